import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { ReportCounts } from '../../db/delivery/report-counts.ts';
import { waitingMax } from '../../db/delivery/state.ts';
import { deliveryLimits } from '../../domain/mail/delivery-limit.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time } from '../http/schemas.ts';
import { DeliveryProviders, readDeliveryProviders } from './providers.ts';
import { type Progress as ProgressState, readDelivery } from './limits.ts';

/** The state of mail delivery of a project, and of a campaign. */

const LimitedBy = z
  .enum(deliveryLimits)
  .nullable()
  .describe('Limit on the speed of waiting mail now; null: no mail waits, or nothing limits it');
const PerSecond = z.number().describe('Messages sent per second, in the last 10 seconds');

/** Progress of a campaign that is sending. */
export const Progress = z.object({
  perSecond: PerSecond,
  limitedBy: LimitedBy,
  scheduledCount: z.int().describe('Mail that waits for the local time of its contact'),
  estimatedEndAt: Time.nullable().describe(
    'Estimated end at this speed, not before the last send moment; null: unknown yet',
  ),
  oldestDueAt: Time.nullable().describe('Since when the oldest message is due'),
});

export function presentProgress(progress: ProgressState): z.input<typeof Progress> {
  const { estimatedEndAt, oldestDueAt, ...state } = progress;
  return { ...state, estimatedEndAt: time(estimatedEndAt), oldestDueAt: time(oldestDueAt) };
}

export const progressExample = {
  perSecond: 14,
  limitedBy: 'project_rate' as const,
  scheduledCount: 0,
  estimatedEndAt: '2026-12-01T08:20:00.000Z',
  oldestDueAt: '2026-12-01T08:00:00.000Z',
};

export const getDelivery = endpoint({
  id: 'getDelivery',
  method: 'GET',
  path: '/delivery',
  summary: 'Get the state of mail delivery',
  description:
    `For the whole project, at most 5 seconds old. Each number is counted up to ${waitingMax}, ` +
    'except campaigns, which are counted completely. `due` can be sent now; `sending` is being ' +
    'handed over; `unknown` may or may not have been sent; `held` is not due yet. `workers` are ' +
    'those of the server; one that died stops counting within 30 seconds.',
  access: 'secret',
  response: z.object({
    due: z.int(),
    oldestDueAt: Time.nullable(),
    sending: z.int(),
    unknown: z.int(),
    held: z
      .object({
        schedule: z.int().describe('Waits for its send time'),
        quiet_hours: z.int().describe('Waits for the end of quiet hours'),
        frequency_cap: z.int().describe('Waits because of a frequency cap'),
        warm_up: z.int().optional().describe('Messages that wait because of a ramp; absent: none'),
        operator: z
          .int()
          .optional()
          .describe('Waits for a decision after a restore of the database; absent: none'),
        retry: z.int().describe('Waits for the next attempt'),
      })
      .describe('By the reason why it is not due'),
    perSecond: PerSecond,
    limitedBy: LimitedBy,
    workers: z.int(),
    reports: z
      .object({
        lastAt: Time.nullable().describe('When the last one came'),
        last24Hours: z
          .object({
            delivered: z.int(),
            bounced: z.int().describe('Bounces of all types'),
            delayed: z.int(),
            complained: z.int(),
          })
          .describe('To the hour'),
      })
      .optional()
      .describe('Reports of other servers about mail by SMTP; absent without such mail'),
    providers: DeliveryProviders.optional(),
  }),
  example: {
    response: {
      due: 1200,
      oldestDueAt: '2026-12-01T08:00:00.000Z',
      sending: 14,
      unknown: 0,
      held: { schedule: 3, quiet_hours: 0, frequency_cap: 0, retry: 2 },
      perSecond: 14,
      limitedBy: 'project_rate',
      workers: 2,
      reports: {
        lastAt: '2026-12-01T08:01:00.000Z',
        last24Hours: { delivered: 0, bounced: 12, delayed: 3, complained: 1 },
      },
    },
  },
  async handle(call) {
    const { projectId } = call.caller;
    const [state, providers] = await Promise.all([
      readDelivery(call, projectId),
      readDeliveryProviders(call, projectId),
    ]);
    const {
      oldestDueAt,
      retry,
      scheduled,
      quietHours,
      frequencyCap,
      warmUp,
      operator,
      down: _,
      reports,
      ...delivery
    } = state;
    return {
      ...delivery,
      oldestDueAt: time(oldestDueAt),
      held: {
        schedule: scheduled,
        quiet_hours: quietHours,
        frequency_cap: frequencyCap,
        ...(warmUp > 0 && { warm_up: warmUp }),
        ...(operator > 0 && { operator }),
        retry,
      },
      ...(isReportedByMail(call.config, reports) && { reports: presentReports(reports) }),
      ...(providers && { providers }),
    };
  },
});

/** Returns true if bounces of the project's mail arrive as mail, or have arrived as mail before. */
function isReportedByMail({ mail }: Config, { lastAt }: ReportCounts): boolean {
  return mail.transport === 'smtp' || lastAt !== null;
}

function presentReports({ lastAt, ...last24Hours }: ReportCounts) {
  return { lastAt: time(lastAt), last24Hours };
}
