import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { isLockTimeout } from '../sql-state.ts';

/**
 * Events are read by transaction ids (`event.tx`, `event_subscription.seen`). The stored ids are
 * the ids of the database cluster plus an offset. In another cluster (after restoring a dump, in a
 * logical replica, after `pg_upgrade`), ids may start again. Then the offset is raised, so that new
 * events have higher ids than all stored ones.
 * A physical copy (a promoted replica, point-in-time recovery) has another timeline, but keeps its
 * ids, so its offset does not change.
 */

/** Log message when the database cluster has changed. */
export const otherCluster =
  'The database is now in another PostgreSQL cluster, or on another timeline. Event subscriptions continue after the last event that they have read';

/** Number of attempts to lock the log. Between attempts, waiting requests can continue. */
const attemptsMax = 30;

/**
 * Adjusts the log of events when the tables are in another cluster than before; otherwise confirms
 * that the cluster is the same. Each process calls this function at its start, and so does each
 * sweep.
 * @returns true if it was another cluster
 */
export async function noticeCluster(db: Database): Promise<boolean> {
  const systemIdentifier = await readSystemIdentifier(db);
  const timeline = await readTimeline(db);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await compareCluster(db, { systemIdentifier, timeline });
    } catch (error) {
      if (!isLockTimeout(error) || attempt === attemptsMax) throw error;
      await sleep(1_000);
    }
  }
}

/**
 * Returns the cluster's identifier; null if the database role may not read it, as in some managed
 * databases.
 */
async function readSystemIdentifier(db: Database): Promise<string | null> {
  if (!(await mayCall(db, 'pg_control_system()'))) return null;
  const { rows: found } = await sql<{ id: string }>`
    select system_identifier::text as id from pg_control_system()`.execute(db);
  return found[0]?.id ?? null;
}

/**
 * Returns the timeline of the cluster, which changes when a replica is promoted or a backup is
 * recovered; null: the database role may not read it.
 */
async function readTimeline(db: Database): Promise<number | null> {
  if (!(await mayCall(db, 'pg_control_checkpoint()'))) return null;
  const { rows } = await sql<{ timeline: number }>`
    select timeline_id as timeline from pg_control_checkpoint()`.execute(db);
  return rows[0]?.timeline ?? null;
}

async function mayCall(db: Database, name: string): Promise<boolean> {
  const { rows } = await sql<{ mayCall: boolean }>`
    select coalesce(has_function_privilege(to_regprocedure(${name})::oid, 'execute'), false)
      as "mayCall"`.execute(db);
  return rows[0]?.mayCall ?? false;
}

/**
 * Returns an id of the database of this handle. Another database has another id, even if it is a
 * copy.
 */
export async function findDatabaseId(db: Database): Promise<string> {
  const systemIdentifier = await readSystemIdentifier(db);
  const { rows } = await sql<{ objects: string }>`select ${objectIds} as objects`.execute(db);
  return [systemIdentifier, rows[0]?.objects].join(' ').trim();
}

/** SQL of the object ids of the database and of a table. */
const objectIds = sql<string>`(select oid from pg_database where datname = current_database())::text
  || ' ' || 'event'::regclass::oid::text`;

interface Cluster {
  systemIdentifier: string | null;
  timeline: number | null;
  objects: string | null;
  logOffset: string;
  confirmedAt: string;
  /** The current object ids of the database and of the table `event`. */
  objectsNow: string;
}

async function compareCluster(
  db: Database,
  { systemIdentifier, timeline }: Pick<Cluster, 'systemIdentifier' | 'timeline'>,
): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<Cluster>`
      select system_identifier as "systemIdentifier", timeline, objects,
          log_offset::text as "logOffset",
          confirmed_at::text as "confirmedAt",
          ${objectIds} as "objectsNow"
        from database_cluster for update`.execute(tx);
    const [before] = rows;
    if (!before)
      throw new Error(
        'The table database_cluster is empty, although it must have one row. Restore it from a backup.',
      );
    const isOther = <T>(was: T | null, is: T | null) => was !== null && is !== null && was !== is;
    const isCopied =
      isOther(before.systemIdentifier, systemIdentifier) ||
      isOther(before.objects, before.objectsNow);
    const isMoved = isCopied || isOther(before.timeline, timeline);
    const logOffset = isCopied ? await continueLog(tx, before) : before.logOffset;
    if (isMoved) {
      await sql`
        insert into restore (kind, from_at, to_at, repaired_at, ended_at)
          values ('database_moved', ${before.confirmedAt}::timestamptz, now(), now(), now())`.execute(
        tx,
      );
    }
    await sql`update database_cluster set confirmed_at = now(), log_offset = ${logOffset},
        system_identifier = coalesce(${systemIdentifier}, system_identifier),
        timeline = coalesce(${timeline}, timeline), objects = ${before.objectsNow}`.execute(tx);
    return isMoved;
  });
}

/** Raises the offset, so that new events have higher ids than stored ones. Returns the offset. */
async function continueLog(tx: Database, before: Cluster): Promise<string> {
  // The lock waits for transactions in progress, because they already have their ids.
  await sql`set local lock_timeout = 1000`.execute(tx);
  await sql`lock table event, derived_event_log, event_subscription
    in share row exclusive mode`.execute(tx);
  const newestOf = (log: 'event' | 'derived_event_log') => sql`
    select newest.tx from project cross join lateral (select tx from ${sql.table(log)}
      where project_id = project.id and tx is not null order by tx desc limit 1) newest`;
  const { rows } = await sql<{ last: string; next: string }>`
    with stored as (
      ${newestOf('event')} union all ${newestOf('derived_event_log')}
      union all select pg_snapshot_xmax(seen) from event_subscription
      union all select pg_snapshot_xmax(reading) from event_subscription where reading is not null
      union all select pg_snapshot_xmax((held ->> 'until')::pg_snapshot)
        from event_subscription cross join jsonb_array_elements(earlier) held
    )
    select coalesce(max(tx::text::bigint), 0)::text as last, pg_current_xact_id()::text as next
      from stored`.execute(tx);
  const { last = '0', next = '0' } = rows[0] ?? {};
  // The functions may be those of a new database into which only the rows were copied.
  if (BigInt(next) + BigInt(before.logOffset) > BigInt(last)) {
    await replaceFunctions(tx, before.logOffset);
    return before.logOffset;
  }
  const distance = BigInt(last) - BigInt(before.logOffset);
  await moveNew(tx, before, { distance: String(distance), next });
  await replaceFunctions(tx, last);
  await sql`update event_subscription set next_reconcile_at = now()`.execute(tx);
  return last;
}

/**
 * Sets the offset in the functions that return ids of the log. They contain it as a literal, because
 * a column default that reads a table would be slow.
 */
async function replaceFunctions(tx: Database, logOffset: string): Promise<void> {
  const offset = sql.raw(String(BigInt(logOffset)));
  await sql`create or replace function log_tx() returns xid8 language sql stable as $$
    select (pg_current_xact_id()::text::bigint + ${offset})::text::xid8 $$`.execute(tx);
  await sql`create or replace function log_snapshot() returns pg_snapshot language sql stable as $$
    select moved_snapshot(pg_current_snapshot(), ${offset}) $$`.execute(tx);
}

/**
 * Renumbers the events that processes recorded in the new cluster before the change was noticed.
 */
async function moveNew(
  tx: Database,
  { logOffset, confirmedAt }: Cluster,
  { distance, next }: { distance: string; next: string },
): Promise<void> {
  const isOfHere = sql`tx <= (${next}::bigint + ${logOffset}::bigint)::text::xid8`;
  const moved = sql`tx = (tx::text::bigint + ${distance}::bigint)::text::xid8`;
  await sql`update event set ${moved}
    where project_id in (select project_id from event_subscription)
      and created_at >= ${confirmedAt}::timestamptz and ${isOfHere}`.execute(tx);
  await sql`update derived_event_log set ${moved}
    where recorded_at >= ${confirmedAt}::timestamptz and ${isOfHere}`.execute(tx);
  await sql`update event_subscription set seen = moved_snapshot(seen, ${distance})
    where updated_at >= ${confirmedAt}::timestamptz
      and pg_snapshot_xmax(seen) <= (${next}::bigint + ${logOffset}::bigint + 1)::text::xid8`.execute(
    tx,
  );
}
