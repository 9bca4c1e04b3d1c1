import { z } from 'zod';
import type { DeliveryRow } from '../../db/subscriptions/deliveries.ts';
import { deliveryStatuses } from '../../db/subscriptions/deliveries.ts';
import { findSubscription, type SubscriptionRow } from '../../db/subscriptions/subscriptions.ts';
import type { Database } from '../../db/database.ts';
import { found } from '../../domain/errors.ts';
import { batchIdOf, deliveryIdOf } from '../../domain/subscription/request.ts';
import { type Attempt } from '../../domain/subscription/schedule.ts';
import { exampleOf, present } from '../http/record.ts';
import { Actor, readActors } from '../actors/actor.ts';
import type { OwnerProject } from '../access/caller.ts';
import { named, ofProject, Time, time } from '../http/schemas.ts';

export const Subscription = named('EventSubscription', {
  id: z.uuid().meta({ examples: ['5d000000-0000-4000-8000-000000000001'] }),
  url: z.string().meta({ examples: ['https://hooks.shop.example/everpost'] }),
  events: z.array(z.string()).meta({ examples: [['email.*', 'order_placed']] }),
  description: z.string().nullable(),
  headerNames: z
    .array(z.string())
    .meta({ examples: [['Authorization']], description: 'Their values are never returned' }),
  batch: named('EventBatch', { max: z.int() })
    .nullable()
    .describe('Maximum number of events per request; null: one')
    .meta({ examples: [null] }),
  enabled: z.boolean().meta({ examples: [true] }),
  disabledReason: z
    .enum(['requested', 'gone', 'failing'])
    .nullable()
    .meta({ examples: [null] }),
  paused: z.boolean(),
  from: Time.nullable()
    .describe(
      'From this time on, a delivery is created for every matching event; null while disabled',
    )
    .meta({ examples: ['2026-11-21T08:00:00.000Z'] }),
  failingSince: Time.nullable().describe(
    'Start of the first failed request since the last success',
  ),
  previousSecretExpiresAt: Time.nullable().describe('Until when the previous secret also signs'),
  createdBy: Actor.nullable().describe('Who created it'),
  ...ofProject,
});

export const subscriptionExample = exampleOf(Subscription);

/** Presents subscriptions, with the names of the actors that created them. */
export async function presentSubscriptions(
  db: Database,
  rows: readonly SubscriptionRow[],
  { publicId: projectId }: OwnerProject,
) {
  const actorOf = await readActors(
    db,
    rows.map((row) => row.created_by),
  );
  return rows.map((row) => {
    const until = row.previous_secret_expires_at;
    return present(Subscription, row, {
      projectId,
      batch: row.batch_max === null ? null : { max: row.batch_max },
      disabledReason: row.disabled_reason as z.input<typeof Subscription>['disabledReason'],
      from: time(row.covered_from),
      previousSecretExpiresAt: time(until !== null && until > new Date() ? until : null),
      createdBy: actorOf(row.created_by),
    });
  });
}

export async function presentSubscription(db: Database, row: SubscriptionRow, of: OwnerProject) {
  return (await presentSubscriptions(db, [row], of))[0]!;
}

/**
 * Finds a subscription.
 * @throws Problem EVENT_SUBSCRIPTION_NOT_FOUND
 */
export async function requireSubscription(
  db: Database,
  projectId: string,
  id: string,
): Promise<SubscriptionRow> {
  return found('EVENT_SUBSCRIPTION', id, await findSubscription(db, projectId, id));
}

const AttemptRecord = z.object({
  at: Time,
  statusCode: z.int().nullable(),
  error: z
    .enum(['timeout', 'unreachable', 'address_refused', 'secret_refused'])
    .nullable()
    .describe('Why there was no response'),
  ms: z.int(),
});

export const Delivery = named('EventDelivery', {
  id: z
    .string()
    .describe('`<eventId>_<subscriptionId>`, the `webhook-id` of its requests')
    .meta({ examples: [`e1000000-0000-4000-8000-000000000001_${subscriptionExample.id}`] }),
  subscriptionId: Subscription.shape.id,
  eventId: z.uuid().meta({ examples: ['e1000000-0000-4000-8000-000000000001'] }),
  eventName: z.string().meta({ examples: ['order_placed'] }),
  contactId: z
    .uuid()
    .nullable()
    .meta({ examples: ['5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11'] }),
  status: z.enum(deliveryStatuses),
  reason: z
    .enum(['disabled', 'contact_deleted', 'event_deleted', 'expired'])
    .nullable()
    .meta({ examples: [null], description: 'Why it was skipped' }),
  batchId: z
    .string()
    .nullable()
    .describe('The `webhook-id` of the last batch with this event; null: it was in no batch')
    .meta({ examples: [null] }),
  nextAttemptAt: Time.nullable()
    .describe('Due time while it is pending')
    .meta({ examples: ['2026-11-21T08:30:05.300Z'] }),
  deliveredAt: Time.nullable(),
  attempts: z
    .array(AttemptRecord)
    .describe('The last 20, oldest first')
    .meta({
      examples: [[{ at: '2026-11-21T08:30:00.100Z', statusCode: 503, error: null, ms: 41 }]],
    }),
  response: z
    .string()
    .nullable()
    .describe('The first 1,024 bytes of the last response that was not 2xx')
    .meta({ examples: ['upstream down'] }),
  ...ofProject,
});

export function presentDelivery(
  row: DeliveryRow,
  { publicId: projectId }: OwnerProject,
): z.input<typeof Delivery> {
  return present(Delivery, row, {
    projectId,
    id: deliveryIdOf(row.event_id, row.subscription_id),
    status: row.status as z.input<typeof Delivery>['status'],
    reason: row.reason as z.input<typeof Delivery>['reason'],
    batchId: row.batch_id === null ? null : batchIdOf(row.batch_id),
    nextAttemptAt: row.status === 'pending' ? time(row.due_at) : null,
    deliveredAt: row.status === 'delivered' ? time(row.ended_at) : null,
    attempts: row.attempts as unknown as (Attempt & z.input<typeof AttemptRecord>)[],
  });
}
