import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { requireVerifiedSender } from '../../../db/domains/domains.ts';
import { findTemplate } from '../../../db/templates/templates.ts';
import { fault, found, invalidField, together, whenRight } from '../../../domain/errors.ts';
import { type Arm, type Experiment, metrics } from '../../../domain/experiment/experiment.ts';
import { limits } from '../../../domain/limits.ts';
import type { TemplateRenderer } from '../../../providers/rendering/renderer.ts';
import {
  addFault,
  Email,
  Name,
  named,
  SenderName,
  SenderText,
  senderColumns,
  Subject,
  Uuid,
} from '../../http/schemas.ts';
import { refuseBrokenText } from '../../templates/stored.ts';
import { templateText } from '../../templates/input.ts';
import { requireReadable } from '../../templates/templates.ts';

/** The experiment of a campaign in requests, and in the record of the campaign. */

const armIdPattern = /^[a-z0-9][a-z0-9_-]{0,19}$/;

const ArmInput = z
  .object({
    id: z
      .string()
      .regex(armIdPattern)
      .describe('1 to 20 of the characters a-z, 0-9, `_` and `-`, unique in the experiment'),
    name: Name.nullish(),
    subject: templateText(Subject).nullish(),
    body: templateText(z.string().min(1)).nullish(),
    from: SenderText.nullish(),
    fromName: SenderName.nullish(),
    replyTo: Email.nullish(),
    templateId: Uuid.nullish(),
  })
  .transform(({ id, from, fromName, ...parts }): Arm => {
    const sender = senderColumns(from, fromName);
    return {
      id,
      name: parts.name ?? null,
      subject: parts.subject ?? null,
      body: parts.body ?? null,
      from: sender.fromEmail ?? null,
      fromName: sender.fromName ?? null,
      replyTo: parts.replyTo ?? null,
      templateId: parts.templateId ?? null,
    };
  });

const settings = {
  testPercent: z.int().min(1).max(100).describe('Share of the recipients that is the test group'),
  decideAfterSeconds: z
    .int()
    .min(1)
    .max(limits.experimentSecondsMax)
    .describe('Time from the last mail of the test group to the decision'),
  metric: z.enum(metrics),
};

export const ExperimentInput = z
  .object({
    arms: z
      .array(ArmInput)
      .min(2)
      .max(limits.experimentArms)
      .describe('Versions of the campaign. Parts left out are those of the template or campaign'),
    ...settings,
    eventName: z
      .string()
      .min(1)
      .max(limits.eventNameChars)
      .nullish()
      .describe('Required with the metric `event`, and only with it'),
    minPerArm: z
      .int()
      .min(1)
      .default(100)
      .describe('Sent mails that each arm needs for a decision by the metric'),
    minProbability: z
      .number()
      .min(50)
      .max(99.99)
      .nullish()
      .describe('Percent that `probabilityBest` of the best arm must reach; null: none'),
    onTie: z
      .enum(['first', 'manual'])
      .default('first')
      .describe(
        'If the numbers do not decide: the first arm wins, or the experiment waits for a decision',
      ),
  })
  .superRefine(({ arms }, context) => {
    arms.forEach(({ id }, index) => {
      const first = arms.findIndex((arm) => arm.id === id);
      if (first === index) return;
      const message = `Another arm has the id "${id}". Give each arm an id of its own.`;
      addFault(context, 'custom', message, ['arms', index, 'id']);
    });
  }, whenRight('arms'))
  .refine(({ metric, eventName }) => metric !== 'event' || !!eventName, {
    path: ['eventName'],
    ...fault('required', 'Is required when `metric` is "event".'),
    ...whenRight('metric', 'eventName'),
  })
  .refine(({ metric, eventName }) => metric === 'event' || !eventName, {
    path: ['eventName'],
    ...fault('not_allowed', 'Is allowed only when `metric` is "event". Leave it out.'),
    ...whenRight('metric', 'eventName'),
  })
  .transform(({ eventName, minProbability, ...given }): Experiment => ({
    ...given,
    eventName: eventName ?? null,
    minProbability: minProbability ?? null,
  }));

export const CampaignExperiment = named('CampaignExperiment', {
  arms: z.array(
    named('CampaignArm', {
      id: z.string().meta({ examples: ['b'] }),
      name: z.string().optional(),
      subject: z.string().optional(),
      body: z.string().optional(),
      from: z.string().optional(),
      fromName: z.string().optional(),
      replyTo: z.string().optional(),
      templateId: z.uuid().optional(),
    }),
  ),
  ...settings,
  eventName: z.string().optional(),
  minPerArm: z.int(),
  minProbability: z.number().nullable(),
  onTie: z.enum(['first', 'manual']),
});

export function presentExperiment({
  arms,
  eventName,
  ...experiment
}: Experiment): z.input<typeof CampaignExperiment> {
  return {
    ...experiment,
    arms: arms.map((arm) => ({ ...withoutNulls(arm), id: arm.id })),
    ...(eventName !== null && { eventName }),
  };
}

function withoutNulls(arm: Arm): Partial<Record<keyof Arm, string>> {
  return Object.fromEntries(Object.entries(arm).filter(([, value]) => value !== null));
}

interface HasExperiment {
  experiment?: Experiment | null | undefined;
}

/**
 * Returns the request with complete arms: parts that an arm lacks are copied from the template of
 * the arm.
 * @throws Problem TEMPLATE_NOT_FOUND
 */
export async function withArmTemplates<Body extends HasExperiment>(
  db: Database,
  projectId: string,
  body: Body,
): Promise<Body> {
  if (!body.experiment) return body;
  const arms: Arm[] = [];
  for (const arm of body.experiment.arms) arms.push(await withTemplate(db, projectId, arm));
  return { ...body, experiment: { ...body.experiment, arms } };
}

async function withTemplate(db: Database, projectId: string, arm: Arm): Promise<Arm> {
  const { templateId: id } = arm;
  if (id === null) return arm;
  const template = found('TEMPLATE', id, await findTemplate(db, projectId, id));
  return {
    ...arm,
    subject: arm.subject ?? template.subject,
    body: arm.body ?? template.body,
    from: arm.from ?? template.from_email,
    fromName: arm.fromName ?? template.from_name,
    replyTo: arm.replyTo ?? template.reply_to,
  };
}

/**
 * Refuses arms whose body is no valid template.
 * @throws Problem VALIDATION_ERROR
 */
export async function requireReadableArms(
  renderer: TemplateRenderer,
  { experiment }: HasExperiment,
  projectId: string,
): Promise<void> {
  const checks = (experiment?.arms ?? []).map(({ body }, index) => async () => {
    const field = `experiment.arms.${index}.body`;
    await requireReadable(renderer, { body: body ?? undefined }, projectId, field);
  });
  await together(...checks);
}

/**
 * Refuses stored texts of arms that cannot be rendered.
 * @throws Problem VALIDATION_ERROR `invalid_template`
 */
export async function refuseBrokenArms(
  renderer: TemplateRenderer,
  campaign: { subject: string; body: string; experiment: Experiment | null },
  projectId: string,
): Promise<void> {
  const checks = (campaign.experiment?.arms ?? []).map((arm, index) => async () => {
    const texts = { subject: arm.subject ?? campaign.subject, body: arm.body ?? campaign.body };
    await refuseBrokenText(renderer, texts, projectId, `experiment.arms.${index}.`);
  });
  await together(...checks);
}

/**
 * Requires that the senders of all arms have a verified domain.
 * @throws Problem DOMAIN_NOT_REGISTERED, DOMAIN_NOT_VERIFIED
 */
export async function requireArmSenders(
  db: Database,
  projectId: string,
  experiment: Experiment | null | undefined,
): Promise<void> {
  const senders = (experiment?.arms ?? []).flatMap(({ from }) => from ?? []);
  for (const from of new Set(senders)) await requireVerifiedSender(db, projectId, from);
}

/**
 * Refuses a local send time for a campaign with an experiment.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseLocalTime(
  experiment: Experiment | null | undefined,
  localTime: string | null,
  field: 'localTime' | 'experiment',
): void {
  if (!experiment || localTime === null) return;
  const message =
    field === 'localTime'
      ? 'A campaign with an experiment cannot have a `localTime`. Send `scheduledFor` instead, or no time to send now.'
      : 'A campaign that is scheduled with `localTime` cannot have an experiment. First schedule it again with `scheduledFor`.';
  throw invalidField(field, 'custom', message);
}
