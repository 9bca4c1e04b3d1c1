import { sql } from 'kysely';
import { type RunInputs, type RunKind, type OutboxEntry, runIds } from '../../domain/runs.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';

/** How long the process that committed a row has to dispatch it before the sweep does. */
export const dispatchGrace = sql<Date>`now() + interval '5 seconds'`;

/**
 * Records, in the transaction of the cause, that a run must be started or signalled. Returns the
 * run's id: dispatch it once the transaction is committed.
 */
export async function enqueue<K extends RunKind>(
  tx: Database,
  entry: { kind: K; input: RunInputs[K]; summary: string },
): Promise<string> {
  // The kind determines the input's type; the compiler cannot follow that through the table.
  const idOf = runIds[entry.kind] as (input: RunInputs[K]) => string;
  const runId = idOf(entry.input);
  await tx
    .insertInto('run_wake')
    .values({
      run_id: runId,
      project_id: entry.input.projectId,
      kind: entry.kind,
      input: JSON.stringify(entry.input),
      summary: entry.summary,
      // Starts at random: a row that was sent and deleted must not be taken for its successor.
      requests: sql<number>`(random() * 1000000000)::int`,
    })
    .onConflict((conflict) =>
      conflict.column('run_id').doUpdateSet({
        input: (row) => row.ref('excluded.input'),
        summary: (row) => row.ref('excluded.summary'),
        requests: sql<number>`run_wake.requests + 1`,
        dispatch_at: dispatchGrace,
      }),
    )
    .execute();
  return runId;
}

/** Records that the run of a campaign must be signalled. Returns the run, for the dispatcher. */
export async function signalCampaign(
  tx: Database,
  campaign: { id: string; project_id: string; name: string },
): Promise<string> {
  return enqueue(tx, {
    kind: 'campaignSend',
    input: { projectId: campaign.project_id, campaignId: campaign.id },
    summary: campaign.name,
  });
}

export async function listPending(db: Database, runIds: readonly string[]): Promise<OutboxEntry[]> {
  const rows = await db
    .selectFrom('run_wake')
    .select(columnsOf('run_wake'))
    .where('run_id', '=', anyOf(runIds, 'text'))
    .execute();
  return rows.map((row) => ({
    runId: row.run_id,
    projectId: row.project_id,
    kind: row.kind as RunKind,
    input: row.input as unknown as OutboxEntry['input'],
    summary: row.summary,
    requests: row.requests,
  }));
}

/** Deletes entries that Temporal was sent, but not requests that came meanwhile. */
export async function markSent(db: Database, told: readonly OutboxEntry[]): Promise<void> {
  await sql`
    delete from run_wake using unnest(
        ${told.map((entry) => entry.runId)}::text[],
        ${told.map((entry) => entry.requests)}::int[]) as told(run_id, requests)
      where run_wake.run_id = told.run_id and run_wake.requests = told.requests`.execute(db);
}

/** Claims runs that Temporal should know of by now, for the caller to dispatch. */
export async function claimOverdue(db: Database, max: number): Promise<string[]> {
  const { rows } = await sql<{ run_id: string }>`
    update run_wake set dispatch_at = now() + interval '30 seconds'
      where run_id in (select run_id from run_wake
        where dispatch_at < now()
        order by dispatch_at limit ${max} for update skip locked)
      returning run_id`.execute(db);
  return rows.map((row) => row.run_id);
}
