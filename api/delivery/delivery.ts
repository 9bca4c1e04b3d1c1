import { z } from 'zod';
import { countedMax } from '../../db/delivery/state.ts';
import { deliveryLimits } from '../../domain/mail/delivery-limit.ts';
import { endpoint } from '../http/endpoint.ts';
import { Time, time } from '../http/schemas.ts';
import { type Progress as ProgressState, readDelivery } from './limits.ts';

/** The state of mail delivery of a project, and of a campaign. */

const LimitedBy = z
  .enum(deliveryLimits)
  .nullable()
  .describe(
    'Current limit of the waiting mail; null: nothing waits, or it leaves as fast as it can',
  );
const PerSecond = z.number().describe('Messages that have left per second, in the last 10 seconds');

/** Progress of a campaign that is sending. */
export const Progress = z.object({
  perSecond: PerSecond,
  limitedBy: LimitedBy,
  scheduledCount: z.int().describe('Mail that waits for the local time of its contact'),
  estimatedEndAt: Time.nullable().describe(
    'At this speed, and not before the last moment that mail waits for; null: not known yet',
  ),
  oldestDueAt: Time.nullable().describe('Since when the oldest message could have left'),
});

export function presentProgress(progress: ProgressState): z.input<typeof Progress> {
  const { estimatedEndAt, oldestDueAt, ...state } = progress;
  return { ...state, estimatedEndAt: time(estimatedEndAt), oldestDueAt: time(oldestDueAt) };
}

/** Example for the documentation. */
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
  tag: 'Emails',
  summary: 'See how the delivery of mail is going',
  description:
    `Of the whole project, at most 5 seconds old; each number is counted up to ${countedMax}, and ` +
    'campaigns are counted wholly. `due` could leave now; `sending` is being handed over; of ' +
    '`unknown` nobody knows whether it left; `held` is not due yet. `workers` are those of the ' +
    'server: one that died counts as gone within 30 seconds.',
  access: 'secret',
  response: z.object({
    due: z.int(),
    oldestDueAt: Time.nullable(),
    sending: z.int(),
    unknown: z.int(),
    held: z
      .object({
        schedule: z.int().describe('Until the time it is to be sent'),
        quiet_hours: z.int().describe('Until the quiet hours of its contact end'),
        frequency_cap: z.int().describe('Until its contact has room for more'),
        retry: z.int().describe('Until the next attempt'),
      })
      .describe('By why it is not due'),
    perSecond: PerSecond,
    limitedBy: LimitedBy,
    workers: z.int(),
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
    },
  },
  async handle(call) {
    const state = await readDelivery(call, call.caller.projectId);
    const { oldestDueAt, retry, scheduled, quietHours, frequencyCap, ...delivery } = state;
    return {
      ...delivery,
      oldestDueAt: time(oldestDueAt),
      held: {
        schedule: scheduled,
        quiet_hours: quietHours,
        frequency_cap: frequencyCap,
        retry,
      },
    };
  },
});
