import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { type Position, positionColumns, selectAfter } from './position.ts';

/**
 * Events that a subscription has not read yet. Their deliveries are pending, although they have no
 * rows. The subscription's run reads the events soon, unless other work goes first.
 */

/**
 * Minimum age of listed events, in SQL. For younger events, the run is about to create the rows.
 */
const listedAfter = sql`interval '2 seconds'`;
/** Maximum part of the log that a list reads. A run is rarely further behind for long. */
const listedMost = { events: 20_000, batches: 400 };

/**
 * Returns SQL that selects pending deliveries that have no row yet, with the columns of
 * `event_delivery`; null: the subscription is deleted, or is disabled and has no events to read.
 * @param where a condition on the events, as SQL
 * @param most null: all events, not only the newest
 */
export async function selectUnread(
  db: Database,
  id: string,
  where: RawBuilder<unknown>,
  most: typeof listedMost | null = listedMost,
): Promise<RawBuilder<unknown> | null> {
  const { rows } = await sql<Position>`
    select ${positionColumns} from event_subscription where id = ${id}
      and (enabled or earlier <> '[]')`.execute(db);
  const [position] = rows;
  if (!position) return null;
  return sql`(with ${selectAfter(position, { most, order: 'newest' })}
    select ${id}::uuid as subscription_id, event_id, ${position.project_id}::uuid as project_id,
        contact_id, event_name, created_at, recorded_at, 'pending' as status, null::text as reason,
        epoch, recorded_at as due_at, recorded_at as pending_since, 0::smallint as tries,
        false as is_retry, false as urgent, 0 as turn, '[]'::jsonb as attempts,
        null::text as response, null::timestamptz as ended_at, recorded_at as updated_at,
        null::uuid as batch_id, null::int as batch_turn
      from wanted where recorded_at < now() - ${listedAfter} and ${where} and not exists (select from event_delivery
        where event_delivery.subscription_id = ${id} and event_delivery.event_id = wanted.event_id))`;
}
