import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { leaveDigests } from '../../workflows/executions/digest-events.ts';
import { noteLostEvents, reconcileRecorded } from '../../subscriptions/upkeep.ts';
import { onlyRow } from '../../expressions.ts';

/** Number of events deleted in one transaction: few enough that the transaction is short. */
const deletedAtOnce = 10_000;

/**
 * Deletes the events of a name recorded until now, in many short transactions. Keeps events that
 * have just ended a wait, because the run must still read them. Open digests lose the deleted
 * events. Returns the number of deleted events.
 * @param note records the deletion, in the first transaction that deletes an event
 */
export async function deleteEvents(
  db: Database,
  projectId: string,
  name: string,
  note: (tx: Database) => Promise<void>,
): Promise<number> {
  const { rows } = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(db);
  const until = sql<Date>`${rows[0]?.now ?? ''}::timestamptz`;
  let deleted = 0;
  // From the newest to the oldest, so that no page scans the deleted rows of earlier pages again.
  let after = { at: 'infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };
  for (;;) {
    const page = await transact(db, async (tx) => {
      const found = await deletePage(tx, { projectId, name, until, after });
      if (deleted === 0 && found.gone.length > 0) await note(tx);
      return found;
    });
    deleted += page.gone.length;
    if (page.last === null) {
      await noteLostEvents(db, projectId, name);
      return deleted;
    }
    after = page.last;
  }
}

interface DeletedPage {
  gone: { id: string; contactId: string | null }[];
  /** The last event of the page, deleted or kept; null: the page has none, so all is done. */
  last: { at: string; id: string } | null;
}

async function deletePage(
  tx: Database,
  { projectId, name, until, after }: EventsToDelete,
): Promise<DeletedPage> {
  const { rows } = await sql<DeletedPage>`
    with page as materialized (
      select id, created_at from event
        where project_id = ${projectId} and name = ${name}
          and (created_at, id) < (${after.at}::timestamptz, ${after.id}::uuid)
          and recorded_at <= ${until}
        order by created_at desc, id desc
        limit ${deletedAtOnce}
    ), gone as (
      delete from event using page
        where event.id = page.id
          and event.id not in (select event_id from wait where event_id is not null)
        returning event.id, event.contact_id as "contactId"
    )
    select (select coalesce(jsonb_agg(gone), '[]') from gone) as gone,
        (select jsonb_build_object('at', created_at::text, 'id', id) from page
          order by created_at, id limit 1) as last`.execute(tx);
  const page = onlyRow(rows);
  await leaveDigests(tx, page.gone);
  return page;
}

interface EventsToDelete {
  projectId: string;
  name: string;
  until: RawBuilder<Date>;
  after: { at: string; id: string };
}

/**
 * Merges the rows of `event_tally` with the same project, name and day into one, if some of them
 * are fresh; no row is left if the sum is 0. The rows of projects with locked subscriptions stay
 * fresh. The sum is exact even when other transactions merge or
 * record at the same time, because it covers exactly the deleted rows.
 */
export async function foldEventTally(db: Database): Promise<void> {
  await sql`
    with touched as (
      select distinct project_id, name, day from event_tally where fresh
    ), gone as (
      delete from event_tally tally using touched
        where (tally.project_id, tally.name, tally.day)
          = (touched.project_id, touched.name, touched.day)
        returning tally.project_id, tally.name, tally.day, tally.count
    ), noted as (
      -- Reads the same fresh rows, so that no row is merged before the subscriptions of its project
      -- are checked.
      ${reconcileRecorded} returning id
    ), locked as materialized (
      -- Another transaction has locked these subscriptions: their project is checked again later.
      select distinct project_id from event_subscription
        where project_id in (select project_id from touched)
          and id not in (select id from noted)
    )
    insert into event_tally (project_id, name, day, count, fresh)
      select project_id, name, day, sum(count), project_id in (select project_id from locked)
        from gone group by 1, 2, 3
        having sum(count) <> 0 or project_id in (select project_id from locked)`.execute(db);
}
