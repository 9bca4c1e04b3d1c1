import { type RawBuilder, sql } from 'kysely';
import {
  type RunNotice,
  type OutboxEntry,
  type RunInputs,
  type RunKind,
  runIds,
  type SentEntry,
} from '../../domain/runs/runs.ts';
import { executionRunId } from '../../domain/runs/execution.ts';
import { columnsOf } from '../columns.ts';
import { notifyAfterCommit } from '../commits.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';

/**
 * The outbox: requests to Temporal as rows, committed with the changes that cause them. The process
 * that commits a row sends its request at once. If a request is not sent before `outbox.due_at`,
 * any process sends it.
 */

/**
 * SQL that is true if an unsent start or cancellation of the run must be kept. The run then needs
 * no signal.
 */
const keepsEarlier = sql`excluded.action = 'signal' and outbox.action <> 'signal'`;

/**
 * The end of an `insert into outbox …`: a later request for the same run replaces an earlier one.
 * But a signal replaces neither a cancellation nor a start, because the execution's row is read
 * when the start is sent. A signal with a step means that an event has ended the wait of this step.
 * Such a signal does not replace a signal without a step, because after a signal without a step the
 * run reads its row and finds the event there. `created_at` is kept, because Temporal has not been
 * informed of a change since this time.
 */
export const replacingEarlier = sql`
  on conflict (run_id) do update set
    action = case when ${keepsEarlier} then outbox.action else excluded.action end,
    input = case when ${keepsEarlier} or excluded.action = 'signal' and outbox.input = '{}'
      then outbox.input else excluded.input end,
    summary = excluded.summary, caused_by = coalesce(excluded.caused_by, outbox.caused_by),
    generation = outbox.generation + 1, due_at = excluded.due_at,
    tries = 0`;

/**
 * Records that a run must be started. If the run is active already, it must be signalled that its
 * rows have changed. `tx` is the transaction of these changes.
 * @param entry.causedBy the actor that the memo of the run names
 */
export async function enqueue<K extends RunKind>(
  tx: Database,
  entry: {
    kind: K;
    input: RunInputs[K];
    summary: string;
    causedBy?: string | null | RawBuilder<string | null>;
  },
): Promise<void> {
  const { runId, projectId } = runOf(entry);
  await sql`
    insert into outbox (run_id, project_id, kind, action, input, summary, caused_by)
      values (${runId}, ${projectId}, ${entry.kind}, 'signal', ${JSON.stringify(entry.input)},
        ${entry.summary}, ${entry.causedBy ?? null})
    ${replacingEarlier}`.execute(tx);
  notifyAfterCommit(tx, [{ runId, projectId }]);
}

/**
 * Like `enqueue`, for many runs of one kind in one statement. Each run may be in `inputs` only
 * once.
 */
export async function enqueueAll<K extends RunKind>(
  tx: Database,
  { kind, inputs, summary }: { kind: K; inputs: readonly RunInputs[K][]; summary: string },
): Promise<void> {
  if (inputs.length === 0) return;
  const runs = inputs.map((input) => ({ ...runOf({ kind, input }), input }));
  await sql`
    insert into outbox (run_id, project_id, kind, action, input, summary)
      select "runId", "projectId", ${kind}, 'signal', input, ${summary}
        from jsonb_to_recordset(${JSON.stringify(runs)}::jsonb)
          as run("runId" text, "projectId" uuid, input jsonb)
    ${replacingEarlier}`.execute(tx);
  notifyAfterCommit(
    tx,
    runs.map(({ runId, projectId }) => ({ runId, projectId })),
  );
}

function runOf<K extends RunKind>({ kind, input }: { kind: K; input: RunInputs[K] }) {
  // The kind determines the type of the input, but the compiler cannot infer this from the table.
  const idOf = runIds[kind] as (of: RunInputs[K]) => string;
  return { runId: idOf(input), projectId: input.projectId };
}

export async function signalCampaign(
  tx: Database,
  campaign: { id: string; project_id: string; name: string },
): Promise<void> {
  await enqueue(tx, {
    kind: 'campaignSend',
    input: { projectId: campaign.project_id, campaignId: campaign.id },
    summary: campaign.name,
    causedBy: sql`(select sent_by from campaign where id = ${campaign.id})`,
  });
}

/**
 * Records that the runs of executions of a project must be started or cancelled.
 * @param options.isAwaited true if the caller itself sends the requests after the commit, and waits
 *   for the response
 */
export async function enqueueExecutions(
  tx: Database,
  action: 'start' | 'cancel',
  executions: readonly { id: string; project_id: string }[],
  options: { isAwaited?: boolean } = {},
): Promise<void> {
  await enqueueRuns(tx, action, executions, options);
}

/** Records that the runs of executions must be signalled to read their changed rows. */
export async function signalExecutions(
  tx: Database,
  executions: readonly { id: string; project_id: string }[],
): Promise<void> {
  await enqueueRuns(tx, 'signal', executions, {});
}

async function enqueueRuns(
  tx: Database,
  action: OutboxEntry['action'],
  executions: readonly { id: string; project_id: string }[],
  options: { isAwaited?: boolean },
): Promise<void> {
  if (executions.length === 0) return;
  const runs = executions.map(({ id, project_id: projectId }) => ({
    runId: executionRunId(id),
    projectId,
    isStart: action === 'start',
  }));
  await sql`
    insert into outbox (run_id, project_id, kind, action)
      select run_id, project_id, 'customerWorkflow', ${action}
        from unnest(${runs.map(({ runId }) => runId)}::text[],
          ${runs.map(({ projectId }) => projectId)}::uuid[]) as run(run_id, project_id)
    ${replacingEarlier}`.execute(tx);
  if (!options.isAwaited) notifyAfterCommit(tx, runs);
}

/** Returns the unsent entries of these runs. */
export async function listPending(db: Database, ids: readonly string[]): Promise<OutboxEntry[]> {
  const rows = await db
    .selectFrom('outbox')
    .select(columnsOf('outbox'))
    .where('run_id', '=', anyOf(ids, 'text'))
    .execute();
  return rows.map((row) => ({
    runId: row.run_id,
    projectId: row.project_id,
    kind: row.kind as OutboxEntry['kind'],
    action: row.action as OutboxEntry['action'],
    input: row.input as unknown as OutboxEntry['input'],
    summary: row.summary,
    causedBy: row.caused_by,
    generation: row.generation,
  }));
}

/**
 * Deletes entries that were sent to Temporal, unless there is a newer request, and records the runs
 * of started executions. A run that was started for an earlier request of its execution is not
 * recorded.
 */
export async function markSent(db: Database, sent: readonly SentEntry[]): Promise<void> {
  const started = sent.flatMap(({ started: run }) => run ?? []);
  await sql`
    with sent as (
      delete from outbox using unnest(
          ${sent.map(({ entry }) => entry.runId)}::text[],
          ${sent.map(({ entry }) => entry.generation)}::int[]) as sent(run_id, generation)
        where outbox.run_id = sent.run_id and outbox.generation = sent.generation
    )
    update execution set temporal_run_id = run.id
      from unnest(${started.map(({ executionId }) => executionId)}::uuid[],
          ${started.map(({ generation }) => generation)}::int[],
          ${started.map(({ runId }) => runId)}::text[]) as run(execution_id, generation, id)
      where execution.id = run.execution_id
        and execution.start_generation = run.generation`.execute(db);
}

/**
 * Maximum number of overdue entries that are claimed at once: for all projects together, and for
 * the platform (entries without a project).
 */
const claimMax = 500;
const platformClaimMax = 100;

/**
 * Claims overdue entries, which the caller sends. All projects with such entries get an equal
 * share, so a large backlog of one project does not delay the others. If there are too many
 * projects, those whose entries have waited longest go first.
 * @returns the runs, and true if there may be more.
 */
export async function claimOverdue(db: Database): Promise<{ runs: RunNotice[]; isMore: boolean }> {
  // One index lookup per project, not one per entry.
  const next = (after: RawBuilder<unknown>) => sql`
    (select project_id from outbox where ${after} order by project_id limit 1)`;
  const due = (owner: RawBuilder<unknown>, max: RawBuilder<unknown>) => sql`
    (select run_id from outbox where ${owner} and due_at < now()
      order by due_at limit ${max} for update skip locked)`;
  const { rows } = await sql<{ runId: string; projectId: string | null; action: string }>`
    with recursive project(id) as (
      select project_id from ${next(sql`project_id is not null`)} first
      union all
      select ${next(sql`project_id > project.id`)} from project where project.id is not null
    ), late as (
      select id, count(*) over () as projects
        from project, lateral (
          select due_at from outbox where project_id = project.id order by due_at limit 1) oldest
        where due_at < now() order by due_at limit ${claimMax}
    ), claimed as (
      select run_id from ${due(sql`project_id is null`, sql`${platformClaimMax}`)} platform
      union all
      select run_id from late, lateral
        ${due(sql`project_id = late.id`, sql`greatest(${claimMax} / late.projects, 1)`)} own
    )
    update outbox set due_at = now() + interval '15 seconds', tries = least(tries + 1, 1000)
      from claimed where outbox.run_id = claimed.run_id
      returning outbox.run_id as "runId", project_id as "projectId", action`.execute(db);
  const runs = rows.map(({ action, ...run }) => ({ ...run, isStart: action === 'start' }));
  return { runs, isMore: runs.length > 0 };
}
