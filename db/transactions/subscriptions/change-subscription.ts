import { sql } from 'kysely';
import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { cancelJobs } from '../../jobs/jobs.ts';
import { holdProject } from '../../projects/projects.ts';
import { lockSecrets } from '../../projects/secrets.ts';
import {
  type SealedHeaders,
  type SubscriptionRow,
  signalSubscription,
  lockSubscription,
  freshReceiver,
  type EarlierItems,
  type DisabledReason,
} from '../../subscriptions/subscriptions.ts';
import { limits } from '../../../domain/limits.ts';

export interface NewSubscription extends SealedHeaders {
  /** By default a new id. */
  id?: string;
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
  /** Maximum number of events per request; null: a request has one event, not a list. */
  batch_max: number | null;
  /** Time from which on the subscription covers events, in ISO 8601; null: only new events. */
  from: string | null;
  /** The subscription's secret, encrypted. */
  secret: Buffer;
  /** The actor who creates the subscription. */
  created_by: string;
}

/**
 * Returns the first of these names that no secret of the project has; null: each name has a secret.
 */
async function findMissingSecret(tx: Database, projectId: string, names: readonly string[]) {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) as named(name)
      where not exists (select from secret
        where project_id = ${projectId} and secret.name = named.name) limit 1`.execute(tx);
  return rows[0]?.name ?? null;
}

/**
 * Inserts a subscription, in the caller's transaction, and requests its run. The subscription
 * covers all matching events whose recording begins after the commit.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function insertSubscription(
  tx: Database,
  projectId: string,
  { from, ...given }: NewSubscription,
): Promise<SubscriptionRow | 'limit' | { missingSecret: string }> {
  await holdProject(tx, projectId);
  // One transaction at a time, so that each counts the subscriptions of the others, and no secret
  // that the new subscription names is deleted meanwhile.
  await lockSecrets(tx, projectId);
  const { others } = await tx
    .selectFrom('event_subscription')
    .select(sql<number>`count(*)::int`.as('others'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  if (others >= limits.subscriptions) return 'limit';
  const missing = await findMissingSecret(tx, projectId, given.secret_names);
  if (missing !== null) return { missingSecret: missing };
  const row = await tx
    .insertInto('event_subscription')
    .values({
      ...given,
      project_id: projectId,
      disabled_reason: given.enabled ? null : 'requested',
      covered_from: given.enabled ? (from ?? sql<Date>`now()`) : null,
      backlog: from === null ? null : JSON.stringify({ from, after: null }),
    })
    .returning(columnsOf('event_subscription'))
    .executeTakeFirstOrThrow();
  await signalSubscription(tx, row);
  return row;
}

export interface SubscriptionChange extends Partial<SealedHeaders> {
  url?: string | undefined;
  events?: string[] | undefined;
  description?: string | null | undefined;
  enabled?: boolean | undefined;
  batch_max?: number | null;
  paused?: boolean | undefined;
}

/**
 * Changes a subscription, in the caller's transaction. A change of the wanted events applies to
 * events recorded from now on. Earlier ones keep the earlier setting, even if they are not read
 * yet.
 */
export async function updateSubscription(
  tx: Database,
  projectId: string,
  id: string,
  change: SubscriptionChange,
): Promise<SubscriptionRow | undefined | { missingSecret: string }> {
  if (change.secret_names || change.url !== undefined) await lockSecrets(tx, projectId);
  const before = await lockSubscription(tx, projectId, id);
  if (!before) return undefined;
  const missing = await findMissingSecret(tx, projectId, change.secret_names ?? []);
  if (missing !== null) return { missingSecret: missing };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  if (given.length === 0) return before;
  const { enabled = before.enabled, paused = before.paused, events = before.events } = change;
  const isOther = enabled !== before.enabled || events.join('\n') !== before.events.join('\n');
  const isSwitched = enabled !== before.enabled;
  // Each of these changes may mean that the receiver works again. Headers cannot be compared,
  // because each encryption differs.
  const isFresh =
    isSwitched ||
    paused !== before.paused ||
    change.headers !== undefined ||
    (change.url ?? before.url) !== before.url;
  const isRepacked = change.batch_max !== undefined && change.batch_max !== before.batch_max;
  const isReleased = (before.paused && !paused) || (isFresh && before.probe_at !== null);
  if (isSwitched && !enabled) await cancelJobs(tx, { subscriptionIds: [id] });
  const row = await tx
    .updateTable('event_subscription')
    .set({
      ...Object.fromEntries(given),
      ...(isOther && remembering(before)),
      ...(isSwitched && enabled && enabling(before)),
      ...(isSwitched && !enabled && disabling('requested')),
      ...(isFresh && freshReceiver),
      ...(isRepacked && { batch_turn: before.batch_turn + 1 }),
      ...(isReleased && { released_at: sql<Date>`clock_timestamp()` }),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('event_subscription'))
    .executeTakeFirstOrThrow();
  await signalSubscription(tx, row);
  return row;
}

/**
 * Returns the columns that append the current settings to `earlier`. These settings apply to the
 * events that were recorded until now and are not read yet; a disabled subscription skips these
 * events.
 */
function remembering({ enabled, events, epoch }: SubscriptionRow) {
  const held = JSON.stringify([{ events: enabled ? events : [], epoch }]);
  return {
    earlier: sql<string>`earlier || jsonb_set(${held}::jsonb, '{0,until}',
      to_jsonb(log_snapshot()::text))`,
  };
}

/** Enables a subscription. Events that were recorded while it was disabled are not covered. */
function enabling({ earlier }: SubscriptionRow) {
  // If all events from before the disabling are read, the later ones are skipped together, by a new
  // position. Otherwise they are skipped one by one.
  const isRead = (earlier as unknown as EarlierItems[]).length === 0;
  return {
    disabled_reason: null,
    covered_from: sql<Date>`now()`,
    ...(isRead && { seen: sql<string>`log_snapshot()`, earlier: '[]' }),
  };
}

/** Disables a subscription. Its run skips the waiting deliveries, because there may be many. */
function disabling(reason: DisabledReason) {
  return {
    enabled: false,
    disabled_reason: reason,
    covered_from: null,
    // Events of the backlog that were not read yet get no delivery. A replay can send them.
    backlog: null,
    epoch: sql<number>`epoch + 1`,
    has_outdated: true,
  };
}

/**
 * Disables a subscription because of its receiver, in the caller's transaction. Returns null when
 * there is no such subscription, or it is disabled already.
 */
export async function disableSubscription(
  tx: Database,
  id: string,
  reason: DisabledReason,
): Promise<SubscriptionRow | null> {
  const row = await tx
    .selectFrom('event_subscription')
    .select(columnsOf('event_subscription'))
    .where('id', '=', id)
    .where('enabled', '=', true)
    .forUpdate()
    .executeTakeFirst();
  if (!row) return null;
  await tx
    .updateTable('event_subscription')
    .set({ ...remembering(row), ...disabling(reason), updated_at: sql<Date>`clock_timestamp()` })
    .where('id', '=', id)
    .execute();
  await cancelJobs(tx, { subscriptionIds: [id] });
  await signalSubscription(tx, row);
  return row;
}

/**
 * Deletes a subscription with its secrets, in the caller's transaction. Its run deletes the
 * deliveries and ends.
 */
export async function deleteSubscription(
  tx: Database,
  projectId: string,
  id: string,
): Promise<boolean> {
  const row = await tx
    .deleteFrom('event_subscription')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returning(['id', 'project_id'])
    .executeTakeFirst();
  if (!row) return false;
  await cancelJobs(tx, { subscriptionIds: [row.id] });
  await signalSubscription(tx, row);
  return true;
}

/** Deletes all subscriptions of a deleted project, in the caller's transaction. */
export async function deleteSubscriptions(tx: Database, projectId: string): Promise<void> {
  const rows = await tx
    .deleteFrom('event_subscription')
    .where('project_id', '=', projectId)
    .returning(['id', 'project_id'])
    .execute();
  for (const row of rows) await signalSubscription(tx, row);
}

/**
 * Removes the progress of all subscriptions of a reset project. The subscriptions deliver the
 * events from now on.
 */
export async function restartSubscriptions(tx: Database, projectId: string): Promise<void> {
  const rows = await tx
    .updateTable('event_subscription')
    .set({
      seen: sql<string>`log_snapshot()`,
      reading: null,
      read_tx: null,
      read_id: null,
      read_earlier: 0,
      earlier: '[]',
      backlog: null,
      has_outdated: false,
      ...freshReceiver,
      released_at: null,
      covered_from: sql<Date | null>`case when enabled then now() end`,
    })
    .where('project_id', '=', projectId)
    .returning(['id', 'project_id'])
    .execute();
  await sql`delete from event_subscription_minute
    where subscription_id = any(${rows.map(({ id }) => id)}::uuid[])`.execute(tx);
  for (const row of rows) await signalSubscription(tx, row);
}
