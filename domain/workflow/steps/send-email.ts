import { z } from 'zod';
import { whenRight } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { withUtm } from '../../links/utm.ts';
import { isBodyTooLarge, renderMailWith } from '../../mail/content.ts';
import { domainOf, normaliseEmail } from '../../email-address.ts';
import { type MessageClass, needsSubscription } from '../../mail/headers.ts';
import { compileTemplate, type Renderer, type TemplateVariables } from '../../template/render.ts';
import { addFault, StoredId } from './schemas.ts';
import type { FoundMail, StepEffects, StepMail, StepTemplate } from './effects.ts';
import { type Step, StepFailure, type StepModule } from './step.ts';

const Recipient = z
  .object({
    /** Absent: the mail goes to the contact. */
    type: z.enum(['CONTACT', 'CUSTOM']).optional(),
    /** An address, or a template that renders to an address. */
    customEmail: z.string().max(limits.headerValueChars).optional(),
  })
  .superRefine(
    ({ type, customEmail }, context) => {
      if (type !== 'CUSTOM') return;
      if (customEmail === undefined) {
        addFault(
          context,
          ['customEmail'],
          'required',
          'Is required when the recipient type is CUSTOM. Send the address of the recipient.',
        );
      } else if (!/\{[{%]/.test(customEmail) && normaliseEmail(customEmail) === null) {
        addFault(context, ['customEmail'], 'invalid_string', 'Must be an email address.');
      }
    },
    whenRight('type', 'customEmail'),
  );

export const SendEmailSettings = z.object({
  recipient: Recipient.optional(),
  /** A copy of the step's own `templateId`, which is never read. */
  templateId: StoredId.nullable().optional(),
  /** The topic of the mail; null: no topic; absent: the topic of the template. */
  topicId: StoredId.nullable().optional(),
});

type SendEmailConfig = z.output<typeof SendEmailSettings>;

export const sendEmail: StepModule<SendEmailConfig> = {
  config: SendEmailSettings,
  ways: 'one',
  sendsMail: true,
  async play(step, effects) {
    const { config, templateId } = step;
    const given = await effects.findMail(templateId, config.topicId);
    const topic = hasTopic(config, given.template) ? given.topic : null;
    const found = { ...given, topic };
    const variables = found.variables(topic?.key ?? null);
    const mail = await compose(step, found, variables, effects);
    const emailId = await effects.sendMail(mail, { found, variables });
    return { kind: 'done', output: outputOf(mail, emailId, effects.now()) };
  },
  problems({ name, config, templateId }, { templates }) {
    const template = templateId === null ? undefined : templates.get(templateId);
    if (!template) return [`"${name}" has no template. Choose one.`];
    return [
      ...(template.hasSender
        ? []
        : [`The template of "${name}" has no sender. Set it in the template.`]),
      ...(config.topicId && !template.isMarketing
        ? [
            `"${name}" has a topic, but its template is not of the type MARKETING. Remove the topic, ` +
              'or choose another template.',
          ]
        : []),
      ...(template.broken === undefined
        ? []
        : [`The template of "${name}" has an error ${template.broken}`]),
    ];
  },
  label: 'EMAIL',
  examples: [
    { name: 'Welcome mail', config: {}, templateId: '5d0f1c2b-3a49-4e58-9d67-7c6b5a4f3e21' },
  ],
};

/**
 * Composes the mail of a step, and decides whether it is withheld.
 * @throws StepFailure when there is no template, no usable sender or no valid recipient
 */
async function compose(
  step: Step<SendEmailConfig>,
  { contact, project, template, domainStatus, topic, utmOf }: FoundMail,
  variables: TemplateVariables,
  { renderer, isBilled }: StepEffects,
): Promise<StepMail> {
  if (!template)
    throw new StepFailure(
      'The template of this step no longer exists. Choose another one, then retry the execution.',
    );
  const from = requireSender(template.fromEmail, domainStatus);
  const recipient = await recipientOf(step, contact.email, variables, renderer);
  const messageClass = template.type as MessageClass;
  const {
    content: withoutUtm,
    rendered,
    warnings,
  } = await renderMailWith(renderer, {
    subject: compileTemplate(template.subject),
    body: compileTemplate(template.body),
    messageClass,
    sourceType: 'WORKFLOW',
    variables,
    // With billing, mail of projects without a subscription has the badge.
    hasBadge: isBilled && project.subscription === null,
  });
  const content = withUtm(withoutUtm, utmOf?.(step.name) ?? null);
  // Mail to a custom address does not go to the contact, so the contact's subscription does not
  // matter.
  const isUnwanted =
    needsSubscription(messageClass, 'WORKFLOW') &&
    recipient.type === 'CONTACT' &&
    !contact.subscribed;
  const isTooLarge = isBodyTooLarge(content.body);
  return {
    content,
    rendered,
    warnings,
    messageClass,
    templateId: template.id,
    topicId: topic?.id ?? null,
    from: { email: from, name: template.fromName ?? project.name },
    replyTo: template.replyTo,
    recipient,
    withheld: isUnwanted ? 'contact_unsubscribed' : isTooLarge ? 'message_too_large' : null,
  };
}

/** Returns true if the mail has a topic: only marketing mail to the contact itself has one. */
function hasTopic({ recipient }: SendEmailConfig, template: StepTemplate | null): boolean {
  return template?.type === 'MARKETING' && recipient?.type !== 'CUSTOM';
}

/**
 * Returns the output of the step.
 * @param emailId null: no mail is stored
 */
function outputOf(
  { recipient, warnings }: StepMail,
  emailId: string | null,
  at: Date,
): Record<string, unknown> {
  return {
    emailId,
    sentAt: at.toISOString(),
    recipientType: recipient.type,
    recipientEmail: recipient.email,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

function requireSender(from: string | null, domainStatus: string | null): string {
  if (!from) {
    throw new StepFailure(
      'The template of this step has no sender. Set it, then retry the execution.',
    );
  }
  if (domainStatus !== 'verified') {
    throw new StepFailure(
      `The sender domain ${domainOf(from)} is not verified. Verify it, then retry the execution.`,
    );
  }
  return from;
}

async function recipientOf(
  { config: { recipient } }: Step<SendEmailConfig>,
  contactEmail: string,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<StepMail['recipient']> {
  if (recipient?.type !== 'CUSTOM') return { type: 'CONTACT', email: contactEmail };
  const custom = compileTemplate(recipient.customEmail ?? '');
  const { text: written } = await renderer.render('text', custom, variables);
  const email = normaliseEmail(written);
  if (!email)
    throw new StepFailure(
      `The recipient "${written}" is not an email address. Correct the step or its data, then retry the execution.`,
    );
  return { type: 'CUSTOM', email };
}
