import { type RawBuilder, sql } from 'kysely';
import { v7 as uuidV7 } from 'uuid';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { signalExecutions } from '../../outbox/outbox.ts';
import { readSendPolicy } from '../../projects/send-policy.ts';
import { cancelExecutions } from './cancel-executions.ts';
import { exitExecutions } from './exit-executions.ts';
import { type ExecutionRow, isActive } from '../../workflows/executions/executions.ts';
import { historyWith } from '../../workflows/executions/history.ts';
import { lockExecutions } from '../../workflows/executions/lock.ts';
import {
  reconcileWhenRunning,
  reconcileWhenWaiting,
} from '../../workflows/executions/reconciliation.ts';
import { stepMarks } from '../../workflows/executions/starts.ts';
import { lookingBack } from '../../workflows/executions/digests.ts';
import { endingNow, restKind } from '../../workflows/executions/wait-moves.ts';
import { claimWait, findEarlierEvent } from '../../workflows/executions/waits.ts';
import type { FindGraph } from '../../workflows/graphs.ts';
import type { ContactValues } from '../../../domain/filter/evaluate.ts';
import { requiredData } from '../../../domain/filter/where.ts';
import { exitOf, type Move, planMove, type Rest } from '../../../domain/live/move.ts';
import type { ZonePolicy } from '../../../domain/time/zones.ts';
import type { Mapping } from '../../../domain/workflow/compare.ts';
import type { StepMark } from '../../../domain/workflow/place.ts';
import type { DelayEnd } from '../../../domain/workflow/steps/delay.ts';
import { openOutput } from '../../../domain/workflow/steps/digest.ts';
import { waitingFor } from '../../../domain/workflow/steps/wait-for-event.ts';

/**
 * Moving executions to another version of their workflow. Their rows are changed in one
 * transaction; their runs are signalled, read these rows, and continue as new on the other version.
 */

export interface MoveJob {
  to: number;
  mapping: Mapping;
  /** Handling of executions whose step has no counterpart. */
  onUnmappable: 'stay' | 'cancel';
  jobId: string;
}

export interface Moved {
  migrated: number;
  unchanged: number;
  unmappable: number;
  cancelled: number;
  finished: number;
  /** Number of executions with a running step: they move right after this step. */
  pending: number;
}

/**
 * Moves executions of a workflow, in the caller's transaction. If a step is running, only the
 * request to move is stored: the caller must call this again for these executions
 * (`listPendingMoves`).
 * @param ids some hundreds at most
 */
export async function moveExecutions(
  tx: Database,
  ids: readonly string[],
  job: MoveJob,
  findGraph: FindGraph,
): Promise<Moved> {
  const rows = await lockExecutions(tx, ids);
  const active = rows.filter(isActive);
  const there = active.filter((row) => row.workflow_version === job.to);
  const elsewhere = active.filter((row) => row.workflow_version !== job.to);
  const inputs = await findMoveInputs(tx, elsewhere);
  const [pending, moves, unmappable] = [[], [], []] as [string[], PlannedMove[], string[]];
  for (const row of elsewhere) {
    const input = inputs.get(row.id)!;
    const move = await planFor(row, input, job, findGraph);
    if (!move) unmappable.push(row.id);
    else if (isAtWork(input)) pending.push(row.id);
    else moves.push({ row, move });
  }
  await applyMoves(tx, moves, job, JSON.stringify({ jobId: job.jobId }));
  await recordPending(tx, pending, job.jobId);
  const cancelled =
    job.onUnmappable === 'cancel' ? await cancelExecutions(tx, unmappable, 'cancelled') : [];
  const left = job.onUnmappable === 'cancel' ? [] : unmappable;
  const over = rows.filter((row) => !active.includes(row)).map(({ id }) => id);
  await forgetPending(tx, [...left, ...over, ...there.map(({ id }) => id)], job.jobId);
  return {
    migrated: moves.length,
    unchanged: there.length,
    unmappable: left.length,
    cancelled: cancelled.length,
    // Executions that were deleted with their contact count as ended.
    finished: ids.length - active.length,
    pending: pending.length,
  };
}

/**
 * Lists executions that a job must still move because they had a running step.
 * @param after the last execution of the page before; null: there was none
 */
export async function listPendingMoves(
  db: Database,
  jobId: string,
  { after, max }: { after: string | null; max: number },
): Promise<string[]> {
  const rows = await db
    .selectFrom('execution')
    .select('id')
    .where('move_job_id', '=', jobId)
    .$if(after !== null, (query) => query.where('id', '>', after ?? ''))
    .orderBy('id')
    .limit(max)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Moves a failed execution, which the caller has locked, so that it can be retried on the other
 * version.
 * @returns false when the failed step has no counterpart: then nothing is written
 */
export async function moveFailed(
  tx: Database,
  row: ExecutionRow,
  to: number,
  findGraph: FindGraph,
): Promise<boolean> {
  const move = await planFailed(tx, row, to, findGraph);
  if (!move) return false;
  await applyMoves(tx, [{ row, move }], { to }, '{}');
  return true;
}

/**
 * Returns how a failed execution moves to a version; null: its failed step has no counterpart
 * there.
 */
export async function planFailed(
  db: Database,
  row: ExecutionRow,
  to: number,
  findGraph: FindGraph,
): Promise<Move | null> {
  const input = (await findMoveInputs(db, [row])).get(row.id)!;
  return planFor(row, input, { to, mapping: {} }, findGraph);
}

interface MoveInput {
  marks: StepMark[];
  rest: Rest;
  contact: ContactValues;
  zones: ZonePolicy;
}

interface PlannedMove {
  row: ExecutionRow;
  move: Move;
}

async function planFor(
  row: ExecutionRow,
  { marks, rest, contact, zones }: MoveInput,
  { to, mapping }: Pick<MoveJob, 'to' | 'mapping'>,
  findGraph: FindGraph,
): Promise<Move | null> {
  const graph = await findGraph(row.workflow_id, row.workflow_version);
  const other = await findGraph(row.workflow_id, to);
  if (!graph || !other) return null;
  return planMove([graph, other], { currentStepId: row.current_step_id, marks, rest }, mapping, {
    now: new Date(),
    contact,
    context: row.context as Record<string, unknown> | null,
    zones,
  });
}

/** Returns the states of executions of one project, by id. */
async function findMoveInputs(
  tx: Database,
  executions: readonly ExecutionRow[],
): Promise<Map<string, MoveInput>> {
  const [first] = executions;
  if (!first) return new Map();
  const zones = await readSendPolicy(tx, first.project_id);
  const { rows } = await sql<
    { id: string; marks: StepMark[]; kind: Rest['kind']; beganAt: Date } & ContactValues
  >`
    select execution.id, ${stepMarks('execution')} as marks,
        coalesce((wait.digest ->> 'countsFrom')::timestamptz, step.started_at) as "beganAt", contact.email,
        contact.subscribed, contact.data, contact.created_at as "createdAt",
        contact.updated_at as "updatedAt",
        case when execution.status <> 'WAITING' or wait.event_id is not null then 'none'
          else ${restKind} end as kind
      from execution
      join contact on contact.id = execution.contact_id
      left join step_execution step
        on step.execution_id = execution.id and step.step_id = execution.current_step_id
      left join wait on wait.step_execution_id = step.id
      where execution.id = ${anyOf(executions.map(({ id }) => id))}`.execute(tx);
  return new Map(
    rows.map(({ id, marks, kind, beganAt, ...contact }): [string, MoveInput] => [
      id,
      { marks, rest: kind === 'none' ? { kind } : { kind, beganAt }, contact, zones },
    ]),
  );
}

/** Returns true if a step that takes several transactions is in progress. */
function isAtWork({ marks }: MoveInput): boolean {
  return marks.some(({ status }) => status === 'RUNNING' || status === 'PENDING');
}

/**
 * Moves executions to the version `to`: changes their rows, steps and waits.
 * @param detail JSON about the move, for the column `execution.history`
 */
async function applyMoves(
  tx: Database,
  moves: readonly PlannedMove[],
  { to }: Pick<MoveJob, 'to'>,
  detail: string,
): Promise<void> {
  if (moves.length === 0) return;
  await renameSteps(tx, moves);
  const given = givenMoves(moves);
  // Delete the steps that the old version has scheduled: they have not started. If the run was
  // ended in Temporal, they are SKIPPED.
  await sql`
    delete from step_execution using ${given}
      where execution_id = given.id
        and (status = 'SCHEDULED' and step_id is distinct from "scheduledStepId"
          or status = 'SKIPPED' and started_at is null)`.execute(tx);
  await sql`
    with delays as (
      update step_execution set updated_at = now(),
          output = coalesce("delayOutput", output)
        from ${given}
        where execution_id = given.id and step_id = "stepId" and "isDelay"
        returning execution_id, project_id, "nextId", "scheduledStepId",
          coalesce("resumeAt", (output ->> 'resumeAt')::timestamptz) as resume_at
    ), scheduled as (
      insert into step_execution (id, project_id, execution_id, step_id, status, scheduled_for)
        select "nextId", project_id, execution_id, "scheduledStepId", 'SCHEDULED', resume_at
          from delays where "scheduledStepId" is not null
        on conflict (execution_id, step_id) do update set scheduled_for = excluded.scheduled_for,
          updated_at = now()
    ), waits as (
      update wait set expires_at = ${endingNow(sql`"expiresAt"`)},
          event_name = coalesce("eventName", event_name),
          conditions = case when "eventName" is null then wait.conditions else given.conditions end,
          required_data = case when "eventName" is null then required_data else "requiredData" end,
          digest = wait.digest || given.digest || case when "looksBack" then ${lookingBack(null)} else '{}' end
        from ${given} where execution_id = given.id and "isWait"
    ), waiting as (
      update step_execution set execute_after = "expiresAt", updated_at = now(),
          output = case when "eventName" is null then step_execution.output else "waitOutput" end
        from ${given} where execution_id = given.id and step_id = "stepId" and "isWait"
    )
    update execution set workflow_version = ${to}, current_step_id = "stepId",
        workflow_name = coalesce(
          (select name from workflow where workflow.id = execution.workflow_id), workflow_name),
        earlier_versions = coalesce(earlier_versions, '{}') || workflow_version,
        history = ${historyWith({
          from: sql`'v' || workflow_version`,
          to: sql`${`v${to}`}`,
          detail: sql`${detail}`,
        })},
        -- A held execution begins its step in the new version, and is held again there while it is
        -- paused.
        held_at = null, move_job_id = null, updated_at = now(),
        next_reconcile_at = case
          when "isWait" then ${reconcileWhenWaiting(sql`"expiresAt"`)}
          when "resumeAt" is not null then ${reconcileWhenWaiting(sql`"resumeAt"`)}
          when status = 'WAITING' then next_reconcile_at
          else ${reconcileWhenRunning} end
      from ${given} where execution.id = given.id`.execute(tx);
  await endByEarlierEvents(tx, moves);
  await exitExecutions(
    tx,
    moves.flatMap(({ row: { id }, move }) => {
      const reason = exitOf(move);
      return reason === null ? [] : [{ id, reason }];
    }),
  );
  // A failed execution has no run: the caller that retries it starts one.
  await signalExecutions(tx, moves.map(({ row }) => row).filter(isActive));
}

/** The changes to the rows of executions, as an SQL table `given`. */
function givenMoves(moves: readonly PlannedMove[]): RawBuilder<unknown> {
  return sql`jsonb_to_recordset(${JSON.stringify(
    moves.map(({ row, move }) => ({
      id: row.id,
      stepId: move.currentStepId,
      isDelay: move.scheduledStepId !== undefined,
      nextId: uuidV7(),
      scheduledStepId: move.scheduledStepId ?? null,
      resumeAt: move.delay ? endOf(move.delay) : null,
      delayOutput: move.delay?.output ?? null,
      isWait: move.wait !== undefined,
      expiresAt: move.wait?.expiresAt ?? null,
      ...expectedColumns(move),
    })),
  )}::jsonb) as given(id uuid, "stepId" uuid, "isDelay" boolean, "nextId" uuid,
    "scheduledStepId" uuid, "resumeAt" timestamptz, "delayOutput" jsonb, "isWait" boolean,
    "expiresAt" timestamptz, "eventName" text, "conditions" jsonb, "requiredData" jsonb, "waitOutput" jsonb, digest jsonb,
    "looksBack" boolean)`;
}

/**
 * Returns the changed columns of a wait or digest. If it expects the same events as before, only
 * the settings of a digest change.
 */
function expectedColumns({ wait }: Move): object {
  const { expected, digest } = wait ?? {};
  if (!expected) return { digest };
  const { eventName, where, since } = expected;
  const conditions = where && where.items;
  const required = where && requiredData(where.items);
  const waitOutput = digest ? openOutput(expected) : waitingFor(eventName, conditions);
  const looksBack = digest !== undefined && since === 'execution';
  return { eventName, conditions, requiredData: required, waitOutput, digest, looksBack };
}

/** Ends a wait that now counts events since its execution began, if such an event was recorded. */
async function endByEarlierEvents(tx: Database, moves: readonly PlannedMove[]): Promise<void> {
  for (const { row, move } of moves) {
    const { expected, expiresAt = null, digest } = move.wait ?? {};
    // A digest collects earlier events itself (`settleDigest`).
    if (expected?.since !== 'execution' || digest) continue;
    const wait = { ...expected, lookBack: expected.since, since: 'infinity', expiresAt };
    const event = await findEarlierEvent(tx, row, wait);
    if (event) await claimWait(tx, row.id, event.id);
  }
}

/** Returns the end of a delay. If its date is past, the next step is due at once. */
function endOf(delay: DelayEnd): Date {
  return delay.kind === 'rest' ? delay.until : new Date();
}

async function renameSteps(tx: Database, moves: readonly PlannedMove[]): Promise<void> {
  const renamed = moves.flatMap(({ row, move }) =>
    move.renamed.map(({ from, to }) => ({ id: row.id, from, to })),
  );
  if (renamed.length === 0) return;
  // Deletes steps that have not begun, because a renamed step may get the id of such a step.
  await sql`
    delete from step_execution
      where execution_id = any(${[...new Set(renamed.map(({ id }) => id))]}::uuid[])
        and (status = 'SCHEDULED' or status = 'SKIPPED' and started_at is null)`.execute(tx);
  // Two passes with temporary ids, because a mapping may let steps change places.
  const between = renamed.map((one) => ({ ...one, free: uuidV7() }));
  await updateStepIds(
    tx,
    between.map(({ id, from, free }) => ({ id, from, to: free })),
  );
  await updateStepIds(
    tx,
    between.map(({ id, to, free }) => ({ id, from: free, to })),
  );
}

async function updateStepIds(
  tx: Database,
  renamed: readonly { id: string; from: string; to: string }[],
): Promise<void> {
  await sql`
    update step_execution set step_id = renamed.to, updated_at = now()
      from unnest(${renamed.map(({ id }) => id)}::uuid[], ${renamed.map(({ from }) => from)}::uuid[],
        ${renamed.map(({ to }) => to)}::uuid[]) as renamed(id, "from", "to")
      where execution_id = renamed.id and step_id = renamed."from"`.execute(tx);
}

async function recordPending(tx: Database, ids: readonly string[], jobId: string): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('execution')
    .set({ move_job_id: jobId })
    .where('id', '=', anyOf(ids))
    .where('move_job_id', 'is distinct from', jobId)
    .execute();
}

/**
 * Removes the job's request to move from executions that the job will not move. Active ones are
 * signalled, so that they continue.
 */
async function forgetPending(tx: Database, ids: readonly string[], jobId: string): Promise<void> {
  if (ids.length === 0) return;
  const rows = await tx
    .updateTable('execution')
    .set({ move_job_id: null })
    .where('id', '=', anyOf(ids))
    .where('move_job_id', '=', jobId)
    .returning(['id', 'project_id', 'status'])
    .execute();
  await signalExecutions(tx, rows.filter(isActive));
}
