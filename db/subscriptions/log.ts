import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { itemsMatch } from './matching.ts';
import type { EarlierItems } from './subscriptions.ts';

/**
 * Reads the events of a project by position: new is what was recorded by a transaction that the
 * snapshot of the last look does not see. A transaction that commits late is in no snapshot before,
 * so nothing is passed over, and nobody waits for it.
 */

/** Events read in one transaction. */
const pageSize = 1_000;

interface Position {
  id: string;
  project_id: string;
  events: string[];
  enabled: boolean;
  epoch: number;
  seen: string;
  reading: string;
  /** A page was read of it before. */
  is_begun: boolean;
  read_tx: string | null;
  read_id: string | null;
  read_earlier: number;
  earlier: EarlierItems[];
}

/** SQL of the events that are new since `seen`. */
const isNew = sql`tx >= pg_snapshot_xmin(seen) and not pg_visible_in_snapshot(tx, seen)`;

/** SQL of whether a subscription has something to read; a disabled one, what was before that. */
export const hasUnread = sql<boolean>`(enabled or earlier <> '[]') and (reading is not null
  or earlier <> '[]' or exists (select from event
    where event.project_id = subscription.project_id and ${isNew}))`;

/** What a subscription has to do before it sends: three short looks by index. */
export async function findWork(db: Database, id: string) {
  const { rows } = await sql<{
    hasBacklog: boolean;
    hasUnread: boolean;
    hasOutdated: boolean;
    isReleased: boolean;
  }>`
    select backlog is not null as "hasBacklog", ${hasUnread} as "hasUnread",
        has_outdated as "hasOutdated",
        released_at is not null as "isReleased"
      from event_subscription subscription where id = ${id}`.execute(db);
  return rows[0] ?? { hasBacklog: false, hasUnread: false, hasOutdated: false, isReleased: false };
}

/**
 * Makes the deliveries of one page of new events; a page that is read again makes no second ones.
 * Returns whether all that was recorded before is read.
 */
export async function readPage(db: Database, id: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const position = await lockPosition(tx, id);
    if (!position) return true;
    const entries = [...position.earlier, current(position)].map((entry, at) => ({ ...entry, at }));
    const { rows } = await sql<{ rows: number; tx: string | null; id: string | null }>`
      with held as materialized (
        select at, epoch, until::pg_snapshot as until,
            array(select jsonb_array_elements_text(events)) as events
          from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb)
            as entry(at int, epoch int, until text, events jsonb)
      ), page as materialized (
        select event.id, event.tx, contact_id, name, event.created_at, event.recorded_at
          from event, (values (${position.seen}::pg_snapshot)) as position(seen)
          where project_id = ${position.project_id} and ${isNew}
            and pg_visible_in_snapshot(tx, ${position.reading}::pg_snapshot)
            and ${
              position.read_tx === null
                ? sql`true`
                : sql`(tx, event.id) > (${position.read_tx}::xid8, ${position.read_id}::uuid)`
            }
          order by tx, event.id limit ${pageSize}
      ), made as (
        insert into event_delivery (subscription_id, event_id, project_id, contact_id, event_name,
            created_at, recorded_at, epoch, due_at)
          select ${id}, page.id, ${position.project_id}, contact_id, name, created_at, recorded_at,
              then_held.epoch, recorded_at
            from page cross join lateral (
              select epoch, events from held
                where until is null or pg_visible_in_snapshot(page.tx, until)
                order by at limit 1) then_held
            where ${itemsMatch(sql`then_held.events`, sql`page.name`)}
          on conflict (subscription_id, event_id) do nothing
      )
      select (select count(*)::int from page) as rows, last.tx::text as tx, last.id
        from (select) as always
        left join lateral (select tx, id from page order by tx desc, id desc limit 1) last on true`.execute(
      tx,
    );
    const { rows: read = 0, tx: lastTx = null, id: lastId = null } = rows[0] ?? {};
    const isOver = read < pageSize;
    await tx
      .updateTable('event_subscription')
      .set(isOver ? passed(position) : { ...marking(position), read_tx: lastTx, read_id: lastId })
      .where('id', '=', id)
      .execute();
    return isOver;
  });
}

async function lockPosition(tx: Database, id: string): Promise<Position | undefined> {
  const { rows } = await sql<Position>`
    select id, project_id, events, enabled, epoch, seen::text, read_tx::text, read_id,
        read_earlier, earlier, reading::text, reading is not null as is_begun
      from event_subscription where id = ${id} for no key update`.execute(tx);
  const [row] = rows;
  if (!row || row.is_begun) return row;
  // A statement after the lock: its snapshot is later than that of any change of the row.
  const { rows: now } = await sql<{ snapshot: string }>`
    select pg_current_snapshot()::text as snapshot`.execute(tx);
  return { ...row, reading: now[0]?.snapshot ?? row.seen };
}

/** What holds for events after all changes. */
function current({ enabled, events, epoch }: Position) {
  return { until: null, events: enabled ? events : [], epoch };
}

function marking({ is_begun, reading, read_earlier, earlier }: Position) {
  return { reading, read_earlier: is_begun ? read_earlier : earlier.length };
}

/** All is read: what changed before that is over. */
function passed(position: Position) {
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

/** Deliveries skipped in one statement. */
const skippedMax = 1_000;

/**
 * Skips deliveries that were pending when their subscription was disabled, a page at a time. Call it
 * when all is read. Returns whether none is left.
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
