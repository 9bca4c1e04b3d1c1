import { type RawBuilder, sql } from 'kysely';
import { columnList } from '../columns.ts';
import { type DerivedEvent, derivedEvents, derivedId, hasDerived } from '../sql/derived-events.ts';
import { itemsMatch } from '../sql/subscribed-events.ts';
import type { EarlierItems } from './subscriptions.ts';

/** The position of a subscription in the log of events, and the events after it. */

export const positionColumns = sql`id, project_id, events, enabled, epoch, seen::text, read_tx::text,
  read_id, read_earlier, earlier, reading::text, reading is not null as is_begun`;

export interface Position {
  id: string;
  project_id: string;
  events: string[];
  enabled: boolean;
  epoch: number;
  seen: string;
  /**
   * The snapshot up to which events are currently read page by page; null: no reading is in
   * progress.
   */
  reading: string | null;
  /** True if a page up to this snapshot was read already. */
  is_begun: boolean;
  read_tx: string | null;
  read_id: string | null;
  read_earlier: number;
  earlier: EarlierItems[];
}

/**
 * SQL conditions; a row is new since a snapshot if one of them is true. Each can use an index: a
 * long-running transaction adds one more id to look up, and causes no scan.
 * @param tx the column of `event` or `derived_event_log`
 */
export function newSince(
  tx: RawBuilder<unknown>,
  seen: RawBuilder<unknown>,
): readonly RawBuilder<boolean>[] {
  return [
    sql<boolean>`${tx} = any (array(select pg_snapshot_xip(${seen})))`,
    sql<boolean>`${tx} >= pg_snapshot_xmax(${seen})`,
  ];
}

/** The part of the log to read, and the order. */
export interface Extent {
  /**
   * Maximum number of events, and of batches of mail (each has up to fifty messages with two events
   * each); null: all.
   */
  most: { events: number; batches: number } | null;
  order: 'oldest' | 'newest';
}

/**
 * Returns queries for a WITH clause that select the events after a position. Two of them are
 * results: `wanted` has the events to which the subscription subscribes, and `bound` the last row
 * of the page; it is empty if there is no further page.
 */
export function selectAfter(position: Position, extent: Extent): RawBuilder<unknown> {
  const entries = [...position.earlier, current(position)].map((entry, at) => ({ ...entry, at }));
  const { most, order } = extent;
  const lastOf = (rows: string, max: number) => sql`
    (select tx, id, recorded_at from ${sql.table(rows)} order by tx, id offset ${max - 1} limit 1)`;
  // The end of a page matters only when events are read from the oldest to the newest.
  const bound =
    most === null || order === 'newest'
      ? sql`select null::xid8 as tx, null::uuid as id, null::timestamptz as recorded_at where false`
      : sql`select tx, id, recorded_at from (${lastOf('events', most.events)}
          union all ${lastOf('batches', most.batches)}) as last order by tx, id limit 1`;
  return sql`held as materialized (
      select at, epoch, until::pg_snapshot as until,
          array(select jsonb_array_elements_text(events)) as events
        from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb)
          as entry(at int, epoch int, until text, events jsonb)
    ), events as materialized (
      select event.id, tx, contact_id, name, event.created_at, recorded_at
        ${nextIn('event', position, { ...extent, max: most?.events ?? null })}
    ), batches as materialized (
      select derived_event_log.id, tx, email_ids, recorded_at
        ${nextIn('derived_event_log', position, { ...extent, max: most?.batches ?? null })}
    ), bound as materialized (${bound}), mails as materialized (
      select tx, mail.id, contact_id, status, source_type, sent_at, delivered_at, derived_events
        from batches cross join unnest(email_ids) as logged(email_id)
        cross join lateral (
          select id, contact_id, status, source_type, sent_at, delivered_at, derived_events
            from email where email.id = email_id limit 1) mail
        where ${isWithin('batches')}
    ), page as (
      select id, tx, contact_id, name, created_at, recorded_at from events
        where ${isWithin('events')}
      ${sql.join(derivedEvents.map(selectOfMails), sql` `)}
    ), wanted as (
      select page.id as event_id, contact_id, name as event_name, created_at, recorded_at, then_held.epoch
        from page cross join lateral (
          select epoch, events from held
            where until is null or pg_visible_in_snapshot(page.tx, until)
            order by at limit 1) then_held
        where ${itemsMatch(sql`then_held.events`, sql`page.name`)}
    )`;
}

/** SQL that selects rows of a log after a position. */
function nextIn(
  log: 'event' | 'derived_event_log',
  { project_id, seen, reading, read_tx, read_id }: Position,
  { order, max }: Extent & { max: number | null },
): RawBuilder<unknown> {
  const isRead = sql`(tx, id) <= (${read_tx}::xid8, ${read_id}::uuid)`;
  // This condition can use an index, and so can `tx >=` below.
  const isVisible = sql`tx < pg_snapshot_xmax(${reading}::pg_snapshot)
    and pg_visible_in_snapshot(tx, ${reading}::pg_snapshot)`;
  const isLeft =
    order === 'newest'
      ? // Also events that were recorded after `reading`.
        read_tx === null
        ? sql`true`
        : sql`not (${isRead} and ${isVisible})`
      : read_tx === null
        ? isVisible
        : sql`tx >= ${read_tx}::xid8 and not ${isRead} and ${isVisible}`;
  const direction = order === 'newest' ? sql`desc` : sql``;
  const first = sql`order by tx ${direction}, id ${direction} ${max === null ? sql`` : sql`limit ${max}`}`;
  const parts = newSince(sql`tx`, sql`${seen}::pg_snapshot`).map(
    (isNew) => sql`(select ${columnList(log)} from ${sql.table(log)}
      where project_id = ${project_id} and ${isNew} and ${isLeft} ${first})`,
  );
  return sql`from (${sql.join(parts, sql` union all `)}) as ${sql.table(log)} ${first}`;
}

/**
 * SQL that is true if a row of one log belongs to the page. A row after `bound` does not, because
 * the other log has unread rows before that row.
 */
const isWithin = (rows: string) => sql`not exists (select from bound
  where (bound.tx, bound.id) < (${sql.ref(`${rows}.tx`)}, ${sql.ref(`${rows}.id`)}))`;

/** SQL that selects the derived events of `mails`, including those that have been stored since. */
function selectOfMails(event: DerivedEvent): RawBuilder<unknown> {
  const at = sql.ref(event.at);
  return sql`
    union all
    select ${derivedId(event, sql`id`)}, tx, contact_id, ${sql.lit(event.name)}, ${at}, ${at}
      from mails where ${hasDerived(event)}
    union all
    select stored.id, mails.tx, stored.contact_id, stored.name, stored.created_at, stored.recorded_at
      from mails cross join lateral (
        select id, contact_id, name, created_at, recorded_at from event inner_stored
          where mails.derived_events & ${sql.lit(event.bit)} = 0
            and inner_stored.id = ${derivedId(event, sql`mails.id`)} limit 1) stored`;
}

/** Returns the settings that apply to events recorded after the last change of the settings. */
function current({ enabled, events, epoch }: Position) {
  return { until: null, events: enabled ? events : [], epoch };
}
