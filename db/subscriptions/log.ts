import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { millisecondsSince } from '../expressions.ts';
import { newSince, type Position, positionColumns, selectAfter } from './position.ts';

/**
 * Reads the events of a project by position: stored events (`event`), and events derived from mail
 * (`derived_event_log`). An event is new if the snapshot up to which the subscription has read
 * (`seen`) does not see the transaction that recorded it. A transaction that commits late is in no
 * earlier snapshot, so no event is skipped, and no reader waits for it.
 */

/** Maximum number of events, and of batches of mail, that one transaction reads. */
const pageMax = { events: 500, batches: 5 };

/**
 * SQL that is true if a subscription has events to read. A disabled subscription reads only events
 * recorded before it was disabled.
 * @param subscription the table or its alias.
 */
export function hasUnread(subscription: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${subscription}.${name}`);
  const hasChanged = sql`${column('earlier')} <> '[]'`;
  const hasNew = (table: string, log: string) =>
    newSince(sql.ref(`${log}.tx`), column('seen')).map(
      // With `exists`, PostgreSQL would expect to find such a row soon, and could read all rows of
      // the project.
      (isNew) => sql`(select true from ${sql.table(table)} ${sql.ref(log)}
        where ${sql.ref(`${log}.project_id`)} = ${column('project_id')} and ${isNew}
        order by ${sql.ref(`${log}.tx`)} limit 1)`,
    );
  const unread = [...hasNew('event', 'inner_unread'), ...hasNew('derived_event_log', 'inner_log')];
  return sql<boolean>`((${column('enabled')} or ${hasChanged})
    and (${column('reading')} is not null or ${hasChanged}
      or coalesce(${sql.join(unread)}, false)))`;
}

/** Returns the work that a subscription must do before it sends. Uses short index reads. */
export async function findWork(db: Database, id: string) {
  const { rows } = await sql<{
    hasBacklog: boolean;
    hasUnread: boolean;
    hasOutdated: boolean;
    isReleased: boolean;
  }>`
    select backlog is not null as "hasBacklog", ${hasUnread('subscription')} as "hasUnread",
        has_outdated as "hasOutdated",
        released_at is not null as "isReleased"
      from event_subscription subscription where id = ${id}`.execute(db);
  return rows[0] ?? { hasBacklog: false, hasUnread: false, hasOutdated: false, isReleased: false };
}

/** A page of events that a subscription has read. */
export interface ReadPage {
  /** True if there are no more events to read. */
  isOver: boolean;
  /** Milliseconds since the last event of the page was recorded. */
  lagMs: number;
}

/**
 * Creates the deliveries for one page of new events. Reading a page again creates no delivery
 * twice.
 */
export async function readPage(db: Database, id: string): Promise<ReadPage> {
  return transact(db, async (tx) => {
    const position = await lockPosition(tx, id);
    if (!position) return { isOver: true, lagMs: 0 };
    const { rows } = await sql<{ tx: string; id: string; lagMs: number }>`
      with ${selectAfter(position, { most: pageMax, order: 'oldest' })}, made as (
        insert into event_delivery (subscription_id, event_id, project_id, contact_id, event_name,
            created_at, recorded_at, epoch, due_at, pending_since)
          select ${id}, event_id, ${position.project_id}, contact_id, event_name, created_at,
              recorded_at, epoch, recorded_at, recorded_at
            from wanted
          on conflict (subscription_id, event_id) do nothing
      )
      select tx::text as tx, id, ${millisecondsSince(sql`recorded_at`)} as "lagMs" from bound`.execute(
      tx,
    );
    const [last] = rows;
    const isOver = last === undefined;
    await tx
      .updateTable('event_subscription')
      .set(isOver ? passed(position) : { ...marking(position), read_tx: last.tx, read_id: last.id })
      .where('id', '=', id)
      .execute();
    return { isOver, lagMs: last?.lagMs ?? 0 };
  });
}

/** A position, while events are read page by page. */
type Reading = Position & { reading: string };

async function lockPosition(tx: Database, id: string): Promise<Reading | undefined> {
  const { rows } = await sql<Position>`
    select ${positionColumns} from event_subscription where id = ${id} for no key update`.execute(
    tx,
  );
  const [row] = rows;
  if (!row) return undefined;
  if (row.reading !== null) return { ...row, reading: row.reading };
  // A separate statement after the lock, so that its snapshot is later than any change of the row.
  // An earlier snapshot belongs to another cluster, which the next sweep notices.
  const { rows: now } = await sql<{ snapshot: string }>`
    select log_snapshot()::text as snapshot
      where pg_snapshot_xmax(log_snapshot()) >= pg_snapshot_xmax(${row.seen}::pg_snapshot)`.execute(
    tx,
  );
  return now[0] && { ...row, reading: now[0].snapshot };
}

function marking({ is_begun, reading, read_earlier, earlier }: Reading) {
  return { reading, read_earlier: is_begun ? read_earlier : earlier.length };
}

/**
 * Returns the columns of a position after all events up to `reading` are read. Settings from before
 * the start of this reading are dropped, because no unread event needs them.
 */
function passed(position: Reading) {
  const { read_earlier } = marking(position);
  return {
    seen: position.reading,
    reading: null,
    read_tx: null,
    read_id: null,
    read_earlier: 0,
    earlier: JSON.stringify(position.earlier.slice(read_earlier)),
  };
}

/** Maximum number of deliveries skipped in one statement. */
const skippedMax = 1_000;

/**
 * Skips deliveries that were pending when their subscription was disabled, one page per call. Call
 * it when all events are read. Returns true if no such delivery is left.
 */
export async function skipOutdated(db: Database, id: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ epoch: number }>`
      select epoch from event_subscription where id = ${id} and has_outdated
        for no key update`.execute(tx);
    const [found] = rows;
    if (!found) return true;
    const { numAffectedRows } = await sql`
      update event_delivery set status = 'skipped', reason = 'disabled', ended_at = now(),
          urgent = false, updated_at = now()
        where subscription_id = ${id} and event_id = any (array(
          select event_id from event_delivery
            where subscription_id = ${id} and status = 'pending' and epoch < ${found.epoch}
            limit ${skippedMax}))`.execute(tx);
    if (Number(numAffectedRows ?? 0) === skippedMax) return false;
    await tx
      .updateTable('event_subscription')
      .set({ has_outdated: false })
      .where('id', '=', id)
      .execute();
    return true;
  });
}
