import { type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, orderOf } from '../expressions.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { EventSubscription } from '../tables.ts';
import { subscriptionSummary } from '../../domain/runs/runs.ts';

/** Event subscriptions: they send a project's events to addresses of the project. */

export type SubscriptionRow = Selectable<EventSubscription>;

export type DisabledReason = 'requested' | 'gone' | 'failing';

/** The headers of a subscription: encrypted, and the parts of them that may be shown. */
export interface SealedHeaders {
  headers: Buffer | null;
  header_names: string[];
  secret_names: string[];
}

/** Signals the run of a subscription to read its rows, in the caller's transaction. */
export async function signalSubscription(
  tx: Database,
  { id, project_id }: { id: string; project_id: string },
): Promise<void> {
  const input = { projectId: project_id, subscriptionId: id };
  await enqueue(tx, { kind: 'eventSubscription', input, summary: subscriptionSummary });
}

/** Lists the subscriptions of a project, newest first. */
export async function listSubscriptions(
  db: Database,
  projectId: string,
): Promise<SubscriptionRow[]> {
  return db
    .selectFrom('event_subscription')
    .select(columnsOf('event_subscription'))
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Returns the subscriptions with these ids, in this order. */
export async function readSubscriptions(
  db: Database,
  ids: readonly string[],
): Promise<SubscriptionRow[]> {
  return db
    .selectFrom('event_subscription')
    .select(columnsOf('event_subscription'))
    .where('id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'id'))
    .execute();
}

export async function findSubscription(
  db: Database,
  projectId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  return db
    .selectFrom('event_subscription')
    .select(columnsOf('event_subscription'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function lockSubscription(
  tx: Database,
  projectId: string,
  id: string,
): Promise<SubscriptionRow | undefined> {
  return tx
    .selectFrom('event_subscription')
    .select(columnsOf('event_subscription'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Settings before a change, for the events that were recorded before it. */
export interface EarlierItems {
  /** Text of the snapshot that sees these events. */
  until: string;
  events: string[];
  epoch: number;
}

/** The columns of a receiver without failures, back-off or hold. */
export const freshReceiver = {
  failing_since: null,
  hold_until: null,
  failures: 0,
  probe_at: null,
  probes: 0,
};

/** Replaces the secret. For a day, requests are signed with the previous secret, too. */
export async function rotateSecret(
  db: Database,
  projectId: string,
  id: string,
  secret: Buffer,
): Promise<boolean> {
  const row = await db
    .updateTable('event_subscription')
    .set({
      secret,
      previous_secret: sql<Buffer>`secret`,
      previous_secret_expires_at: sql<Date>`now() + interval '24 hours'`,
      updated_at: sql<Date>`now()`,
    })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}
