import { sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { itemsMatch } from '../../sql/subscribed-events.ts';
import type { EarlierItems } from '../../subscriptions/subscriptions.ts';
import { historyPage, type HistoryPlace, selectHistory, storeHistory } from './store-history.ts';

/**
 * Reads events that were recorded before the creation of a subscription that begins in the past.
 */

/** Progress of reading the events of a backlog. */
export interface Backlog {
  /** ISO 8601: the time from which on the subscription covers events. */
  from: string;
  /** The last event that was read; null: nothing was read yet. */
  after: HistoryPlace | null;
}

/**
 * Creates the deliveries for one page of the backlog of a subscription, oldest first. The backlog
 * has the events that were committed when the subscription was created; events that were committed
 * later are read as new ones. Returns true when all are read.
 */
export async function readBacklogPage(db: Database, id: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{
      projectId: string;
      events: string[];
      epoch: number;
      seen: string;
      earlier: EarlierItems[];
      backlog: Backlog | null;
    }>`select project_id as "projectId", events, epoch, seen::text, earlier, backlog
        from event_subscription where id = ${id} for no key update`.execute(tx);
    const [position] = rows;
    if (!position?.backlog) return true;
    const { projectId, seen, backlog } = position;
    // Uses the settings that the subscription was created with. If they were changed since,
    // `earlier` has them as its first entry, because new events are read only after the backlog.
    const { events: items, epoch } = position.earlier[0] ?? position;
    const span = { projectId, items, ...backlog, to: null, eventName: null };
    const until = await storeHistory(tx, span);
    const { rows: read } = await sql<{ rowsRead: number; at: string | null; id: string }>`
      with page as materialized (${selectHistory(span, until)}), made as (
        insert into event_delivery (subscription_id, event_id, project_id, contact_id, event_name,
            created_at, recorded_at, epoch, due_at)
          select ${id}, id, ${projectId}, contact_id, name, created_at, recorded_at, ${epoch},
              recorded_at
            from page where ${itemsMatch(sql`${items}::text[]`, sql`page.name`)}
              and (tx is null or pg_visible_in_snapshot(tx, ${seen}::pg_snapshot))
          on conflict (subscription_id, event_id) do nothing
      )
      select (select count(*)::int from page) as "rowsRead", last.created_at::text as at, last.id
        from (select) as always
        left join lateral (select created_at, id from page order by created_at desc, id desc limit 1)
          last on true`.execute(tx);
    const { rowsRead = 0, at = null, id: lastId = '' } = read[0] ?? {};
    const isOver = until === null && rowsRead < historyPage;
    const next: Backlog = { ...backlog, after: at === null ? backlog.after : { at, id: lastId } };
    await tx
      .updateTable('event_subscription')
      .set({ backlog: isOver ? null : JSON.stringify(next) })
      .where('id', '=', id)
      .execute();
    return isOver;
  });
}
