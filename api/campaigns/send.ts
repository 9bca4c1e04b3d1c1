import { actorOf } from '../access/caller.ts';
import { z } from 'zod';
import { requireAllowance } from '../../db/billing/billing.ts';
import { audienceOf, kindOf } from '../../db/reads/audience.ts';
import { type CampaignRow, findCampaign, updateCampaign } from '../../db/campaigns/campaigns.ts';
import { startCampaign } from '../../db/transactions/mail/advance-campaign.ts';
import { countMoments } from '../../db/reads/campaign-moments.ts';
import type { Database } from '../../db/database.ts';
import { requireVerifiedSender } from '../../db/domains/domains.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import {
  firstMoment,
  type LateRule,
  lateRules,
  momentIn,
} from '../../domain/campaign/local-time.ts';
import { found, invalidField, Problem, together, whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { LocalDateTimeText } from '../../domain/time/schemas.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault, laterTime, ById } from '../http/schemas.ts';
import { refuseBrokenText } from '../templates/stored.ts';
import { refusePast } from '../public/prepared-mail.ts';
import { countRecipients, recounting, requireCounted } from './counting.ts';
import { refuseBrokenArms, refuseLocalTime, requireArmSenders } from './experiment/input.ts';
import { CampaignDone, campaignExample } from './record.ts';
import { act, requireState } from './states.ts';

/** Sends a campaign: now, at a time, or at the local time of each contact. */

const SendTime = laterTime().optional().meta({ description: 'Send time; absent: now' });

const Late = z.enum(lateRules).nullish();

const SendRequest = z
  .object({
    scheduledFor: SendTime,
    scheduledAt: SendTime,
    localTime: LocalDateTimeText.nullish().describe(
      'Send time in the zone of each contact; not together with scheduledFor',
    ),
    // Checked by `superRefine` below, because `late` is ignored without `localTime`.
    late: z
      .unknown()
      .optional()
      .describe(
        'With localTime, for contacts whose moment has passed: `send` (the default) sends it ' +
          'at once, `skip` does not send it',
      ),
  })
  .refine(({ scheduledFor: one, scheduledAt: other }) => !one || !other || +one === +other, {
    path: ['scheduledAt'],
    ...fault(
      'custom',
      'Is another name of `scheduledFor`, but has another value. Send only one of them.',
    ),
    ...whenRight('scheduledFor', 'scheduledAt'),
  })
  .refine((body) => !body.localTime || (!body.scheduledFor && !body.scheduledAt), {
    path: ['localTime'],
    ...fault(
      'custom',
      'Send either `localTime` or `scheduledFor` (also called `scheduledAt`), not both.',
    ),
    ...whenRight('localTime', 'scheduledFor', 'scheduledAt'),
  })
  .superRefine(({ localTime, late }, context) => {
    if (typeof localTime !== 'string') return;
    for (const issue of Late.safeParse(late).error?.issues ?? []) {
      context.addIssue({ ...issue, path: ['late'] });
    }
  }, whenRight('localTime'))
  .transform(({ scheduledFor, scheduledAt, localTime, late }) => ({
    at: scheduledFor ?? scheduledAt ?? null,
    local: typeof localTime === 'string' ? { localTime, late: Late.parse(late) ?? 'send' } : null,
  }));

type SendRequest = z.output<typeof SendRequest>;

export const sendCampaign = endpoint({
  id: 'sendCampaign',
  method: 'POST',
  path: '/campaigns/{id}/send',
  summary: 'Send a campaign now or later, or reschedule it',
  description:
    '`scheduledFor` is a date-time with an offset, or milliseconds since 1970. `localTime` ' +
    'is a date-time without an offset: each contact gets the campaign at this time in its ' +
    'own zone (`send-policy` names the field with the zone). The campaign begins at the ' +
    'first such moment ahead, or at once if some have passed and `late` is `send`; the ' +
    'response has that time in `scheduledFor`. The audience is counted now, and fixed when ' +
    'sending begins. CAMPAIGN_NO_RECIPIENTS: it is empty. SCHEDULE_IN_PAST: the time is in ' +
    'the past, for all contacts. BILLING_LIMIT_EXCEEDED: the project may not send so many ' +
    'mails in the month in which sending begins. VALIDATION_ERROR `invalid_template`: its ' +
    'text, stored by an earlier version, cannot be rendered. CAMPAIGN_NOT_SENDABLE: a ' +
    'campaign with the status in `details.status` cannot be sent.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  params: ById,
  body: SendRequest,
  response: CampaignDone,
  problems: [
    'CAMPAIGN_NOT_FOUND',
    'CAMPAIGN_NOT_SENDABLE',
    'SCHEDULE_IN_PAST',
    'CAMPAIGN_NO_RECIPIENTS',
    'BILLING_LIMIT_EXCEEDED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
    'CONDITION_TOO_HEAVY',
  ],
  example: {
    body: { scheduledFor: '2026-12-01T08:00:00.000Z' },
    response: {
      success: true,
      data: {
        ...campaignExample,
        status: 'SCHEDULED',
        scheduledFor: '2026-12-01T08:00:00.000Z',
        scheduledAt: '2026-12-01T08:00:00.000Z',
      },
      message: 'The campaign is scheduled.',
    },
  },
  async check({ db, renderer, caller: { projectId }, params: { id }, body: { local } }) {
    await together(
      async () => {
        if (!local) return;
        const { timeZone } = await readSendPolicy(db, projectId);
        refuseFarTime(local.localTime, timeZone);
      },
      async () => {
        const campaign = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
        await together(
          () => refuseLocalTime(campaign.experiment, local?.localTime ?? null, 'localTime'),
          () => refuseBrokenText(renderer, campaign, projectId),
          () => refuseBrokenArms(renderer, campaign, projectId),
        );
      },
    );
  },
  async handle(call) {
    const { db, config, caller, body } = call;
    const { id } = call.params;
    const { projectId } = caller;
    const local = body.local
      ? { local_time: body.local.localTime, late: body.local.late }
      : { local_time: null, late: null };
    return recounting(async () => {
      const before = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
      requireState(before, 'send');
      refusePast(body.at);
      await requireVerifiedSender(db, projectId, before.from_email);
      await requireArmSenders(db, projectId, before.experiment);
      const { total, at, isNow } = await planSending(db, before, body);
      await requireAllowance(db, config.billing, {
        projectId,
        category: 'campaigns',
        units: total,
        at,
      });
      const data = await act(
        call,
        { id, action: 'send', event: 'campaign.sent' },
        async (tx, row) => {
          requireCounted(before, row);
          refuseLocalTime(row.experiment, body.local?.localTime ?? null, 'localTime');
          const sent = { scheduled_for: at, sent_by: actorOf(caller) };
          const planned = { total_recipients: total, ...sent, ...local };
          await updateCampaign(tx, id, isNow ? planned : { ...planned, status: 'SCHEDULED' });
          if (isNow) await startCampaign(tx, { ...row, ...local });
        },
      );
      const message = isNow ? 'The campaign is being sent.' : 'The campaign is scheduled.';
      return { success: true as const, data, message };
    });
  },
});

/**
 * Refuses a local time that is too far in the future.
 * @throws Problem VALIDATION_ERROR
 */
function refuseFarTime(localTime: string, projectZone: string): void {
  const { scheduleDaysMax: daysMax } = limits;
  const ahead = momentIn(null, projectZone, localTime).getTime() - Date.now();
  if (ahead <= daysMax * 86_400_000) return;
  throw invalidField('localTime', 'too_big', `Must be at most ${daysMax} days in the future.`);
}

/**
 * Returns the number of contacts that would get a campaign now, and when sending begins.
 * @returns `at`: the value of `scheduled_for`; null: sending begins now, without a schedule.
 * @throws Problem CAMPAIGN_NO_RECIPIENTS, SCHEDULE_IN_PAST, CONDITION_TOO_HEAVY
 */
async function planSending(
  db: Database,
  row: CampaignRow,
  { at, local }: SendRequest,
): Promise<{ total: number; at: Date | null; isNow: boolean }> {
  const { project_id: projectId } = row;
  if (!local) {
    const total = await countRecipients(db, projectId, row);
    if (total === 0) throw new Problem('CAMPAIGN_NO_RECIPIENTS');
    return { total, at, isNow: at === null };
  }
  const { localTime, late } = local;
  const policy = await readSendPolicy(db, projectId);
  const given = { projectId, audience: audienceOf(row), kind: kindOf(row) };
  const { total, moments } = await countMoments(db, given, { localTime, policy });
  if (total === 0) throw new Problem('CAMPAIGN_NO_RECIPIENTS');
  const now = Date.now();
  const first = firstMoment(moments, late satisfies LateRule, now);
  if (first === null) {
    const message = `The local time ${localTime} has passed for every recipient.`;
    throw new Problem('SCHEDULE_IN_PAST', {
      message,
      suggestion: 'Send a later `localTime`, or leave it out to send now.',
    });
  }
  return { total, at: new Date(first), isNow: first === now };
}
