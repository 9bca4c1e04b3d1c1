import { sql } from 'kysely';
import type { Database } from './database.ts';
import {
  listExecutionCancels,
  listExecutionStarts,
  updateExecutionCancelled,
  updateExecutionsStarted,
} from './workflows/starts.ts';
import { markSent, listPending } from './outbox/outbox.ts';
import { listClaimedWaits } from './workflows/waits.ts';
import type { DueCancel, StartedRun } from '../domain/workflow/execution.ts';
import type { OutboxEntry } from '../domain/runs.ts';

/** The dispatcher's reads and writes: the `DispatchStore` of `workflows/client/dispatcher.ts`. */
export function dispatchStore(db: Database) {
  return {
    listStarts: (ids: readonly string[]) => listExecutionStarts(db, ids),
    listCancels: (ids: readonly string[]) => listExecutionCancels(db, ids),
    listClaimedWaits: (ids: readonly string[]) => listClaimedWaits(db, ids),
    markStarted: (started: readonly StartedRun[]) => updateExecutionsStarted(db, started),
    markCancelled: (due: DueCancel) => updateExecutionCancelled(db, due),
    listPending: (ids: readonly string[]) => listPending(db, ids),
    markSent: (told: readonly OutboxEntry[]) => markSent(db, told),
  };
}

/**
 * Claims executions that Temporal should know of by now, for the caller to dispatch. The claim is a
 * later `dispatch_at` rather than an order of ids: rows commit in another order than their ids were
 * assigned.
 */
export async function claimForgottenExecutions(db: Database, max: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with claimed as (
      update execution set dispatch_at = now() + interval '30 seconds'
        where id in (select id from execution
          where dispatch is not null and dispatch_at < now()
          order by dispatch_at limit ${max} for update skip locked)
        returning id
    ), orphaned as (
      update orphan_run set dispatch_at = now() + interval '30 seconds'
        where execution_id in (select execution_id from orphan_run
          where dispatch_at < now()
          order by dispatch_at limit ${max} for update skip locked)
        returning execution_id
    )
    select id from claimed union all select execution_id from orphaned`.execute(db);
  return rows.map((row) => row.id);
}

/** The same for waits that an event has claimed and whose run has not continued. */
export async function claimForgottenWaits(db: Database, max: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update wait set dispatch_at = now() + interval '30 seconds'
      where step_execution_id in (select step_execution_id from wait
        where event_id is not null and dispatch_at < now()
        order by dispatch_at limit ${max} for update skip locked)
      returning step_execution_id as id`.execute(db);
  return rows.map((row) => row.id);
}
