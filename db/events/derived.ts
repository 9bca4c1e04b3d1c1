import { sql } from 'kysely';
import type { Database } from '../database.ts';
import {
  type Derivable,
  selectDerivable,
  derivedEvents,
  selectDerived,
} from '../sql/derived-events.ts';

/**
 * Returns the events of a campaign's messages that can be derived instead of stored. The caller has
 * locked the contacts, so no wait for such an event can begin before the commit.
 */
export async function findDerivable(
  tx: Database,
  projectId: string,
  contactIds: readonly string[],
): Promise<Derivable> {
  const { rows } = await sql<{ name: string; subscriptionIds: string[] | null }>`
    ${selectDerivable(projectId, contactIds)}`.execute(tx);
  const names = new Set(rows.map(({ name }) => name));
  return {
    bits: derivedEvents.reduce((sum, { name, bit }) => sum + (names.has(name) ? bit : 0), 0),
    subscriptionIds: [...new Set(rows.flatMap(({ subscriptionIds }) => subscriptionIds ?? []))],
  };
}

/**
 * Stores the derived events of messages, in the caller's transaction. Call it before a change of
 * the messages, after which the events could not be derived any more.
 */
export async function storeDerived(tx: Database, emailIds: readonly string[]): Promise<void> {
  const isMeant = sql`id = any(${emailIds}::uuid[])`;
  const events = derivedEvents.map((event) => selectDerived(event, isMeant));
  await sql`
    with given as (${sql.join(events, sql` union all `)}), stored as (
      -- tx is null, because the events are not new: no subscription must deliver them.
      insert into event (id, project_id, contact_id, name, data, created_at, recorded_at, email_id,
          tx)
        select id, project_id, contact_id, name, data, created_at, recorded_at, email_id, tx
          from given
    ), counted as (
      -- Subtract what the trigger adds to the count, because these events were counted when they
      -- happened.
      insert into event_tally (project_id, name, day, count)
        select project_id, name, (created_at at time zone 'UTC')::date, -1 from given
    )
    update email set derived_events = 0 where ${isMeant}`.execute(tx);
}
