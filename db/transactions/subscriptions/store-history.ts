import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { storeDerived } from '../../events/derived.ts';
import { derivedEvents, hasDerived } from '../../sql/derived-events.ts';
import { momentsOf } from '../../sql/mail-moments.ts';
import { itemsMatch } from '../../sql/subscribed-events.ts';

/** Reads past events, in recorded order. */

/** Maximum number of events read in one transaction. */
export const historyPage = 1_000;

/** Maximum number of derived events of a name stored in one transaction. */
const storedMax = 500;

/** The last event that was read. */
export interface HistoryPlace {
  /** A timestamp as text. */
  at: string;
  id: string;
}

export interface HistorySpan {
  projectId: string;
  /** Timestamps as text. `to` null: the span ends now. */
  from: string;
  to: string | null;
  eventName: string | null;
  /** Event names that the subscription covers. */
  items: readonly string[];
  /** The last event that was read; null: nothing was read yet. */
  after: HistoryPlace | null;
}

/**
 * Stores the next derived events, because deliveries refer to stored events. Returns the time
 * before which all derived events are stored; null: all derived events of the span are stored.
 */
export async function storeHistory(tx: Database, span: HistorySpan): Promise<string | null> {
  const { projectId, from, to, eventName, items, after } = span;
  const bounds: string[] = [];
  for (const event of derivedEvents) {
    if (eventName !== null && eventName !== event.name) continue;
    const at = sql.ref(event.at);
    const isWithin = sql`at >= ${after?.at ?? from}::timestamptz
      ${to === null ? sql`` : sql`and at <= ${to}::timestamptz`}`;
    const { rows } = await sql<{ id: string; at: string }>`
      select id, ${at}::text as at
        from ${momentsOf(projectId, event.moment, isWithin)} join email on id = email_id
        where ${hasDerived(event)}
          and ${itemsMatch(sql`${items}::text[]`, sql`${event.name}::text`)}
        order by moment.at, email_id limit ${storedMax} for no key update of email`.execute(tx);
    const last = rows.at(-1);
    if (!last) continue;
    await storeDerived(
      tx,
      rows.map(({ id }) => id),
    );
    bounds.push(last.at);
  }
  return bounds.toSorted((a, b) => Date.parse(a) - Date.parse(b))[0] ?? null;
}

/**
 * SQL that selects the next page of a span's events.
 * @param until the result of `storeHistory`
 */
export function selectHistory(span: HistorySpan, until: string | null): RawBuilder<unknown> {
  const { projectId, from, to, eventName, after } = span;
  return sql`
    select id, contact_id, name, created_at, recorded_at, tx from event
      where project_id = ${projectId} and created_at >= ${from}::timestamptz
        ${to === null ? sql`` : sql`and created_at <= ${to}::timestamptz`}
        ${until === null ? sql`` : sql`and created_at < ${until}::timestamptz`}
        ${eventName === null ? sql`` : sql`and name = ${eventName}`}
        ${
          after === null
            ? sql``
            : sql`and (created_at, id) > (${after.at}::timestamptz, ${after.id}::uuid)`
        }
      order by created_at, id limit ${historyPage}`;
}
