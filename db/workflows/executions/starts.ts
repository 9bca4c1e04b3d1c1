import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { among, anyOf, isoInstant } from '../../expressions.ts';
import { isActive } from './executions.ts';
import { type FindGraph, graphReader } from '../graphs.ts';
import type { DueStart, OpenStart, StartedRun } from '../../../domain/runs/execution.ts';
import { placeOf, type StepMark, refOf } from '../../../domain/workflow/place.ts';
import { branchOf } from '../branches.ts';

/**
 * The input of an execution's run. Starting a run may be slow. So the result of a start is recorded
 * only if it is still the latest start (`start_generation`).
 */

/**
 * SQL that selects the steps of an execution as a JSON array of `StepMark`, from which its position
 * is computed.
 * @param execution the table or its alias.
 */
export function stepMarks(execution: string): RawBuilder<StepMark[]> {
  return sql<StepMark[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('stepId', step_id, 'status', status,
      'branch', ${branchOf('inner_mark_of')},
      'startedAt', ${isoInstant(sql`started_at`)},
      'endedAt', case when status in ('COMPLETED', 'SKIPPED')
        then ${isoInstant(sql`coalesce(settled_at, completed_at)`)} end,
      'eventId', ending_event_id,
      'hasCalled', coalesce(output ? 'statusCode', false),
      'hasClosed', coalesce(output ? 'closedBy', false),
      'hasWaited', coalesce(output ? 'waitOutcome' or output ->> 'resumeAt' is not null, false)
        or history @> '[{"to": "WAITING"}]',
      -- If the end of a delay was moved into the past, the next step begins now, so earlier events
      -- do not count for it.
      'dueAt', ${isoInstant(sql`case when status = 'SCHEDULED'
        then greatest(scheduled_for, updated_at) else scheduled_for end`)},
      'isOver', coalesce((output ->> 'resumeAt')::timestamptz <= clock_timestamp(),
        (output ->> 'past')::boolean, false))), '[]')
    from step_execution inner_mark_of
    where inner_mark_of.execution_id = ${sql.ref(`${execution}.id`)})`;
}

/** Lists the steps of an execution, with the columns from which its position is computed. */
export async function listStepMarks(db: Database, executionId: string): Promise<StepMark[]> {
  const { rows } = await sql<{ marks: StepMark[] }>`
    select ${stepMarks('execution')} as marks from execution where id = ${executionId}`.execute(db);
  return rows[0]?.marks ?? [];
}

/**
 * Returns the input of the runs of these executions. An execution that has begun a step resumes at
 * its position: its failed step is retried, its run was lost, or a request has changed it.
 */
export async function listExecutionStarts(
  db: Database,
  ids: readonly string[],
  findGraph: FindGraph = graphReader(db),
): Promise<DueStart[]> {
  const rows = await db
    .selectFrom('execution')
    .innerJoin('project', 'project.id', 'execution.project_id')
    .select([
      'execution.id as executionId',
      'execution.project_id as projectId',
      'execution.workflow_id as workflowId',
      'execution.workflow_name as workflowName',
      'execution.workflow_version as version',
      'execution.contact_id as contactId',
      'project.name as projectName',
      'execution.key',
      'execution.caused_by as causedBy',
      isoInstant(sql`execution.started_at`).as('startedAt'),
      'execution.current_step_id as currentStepId',
      'execution.start_generation as generation',
      'execution.status',
      sql<boolean>`execution.earlier_versions is not null`.as('isMoved'),
      stepMarks('execution').as('marks'),
      sql<string>`execution.updated_at::text`.as('updatedAt'),
    ])
    .where('execution.id', '=', anyOf(ids))
    .execute();
  const starts = rows.map(async (row): Promise<DueStart | null> => {
    const { currentStepId, generation, status, updatedAt, isMoved, ...rest } = row;
    const { marks: steps, projectName, key, causedBy, ...ids } = rest;
    const graph = await findGraph(ids.workflowId, ids.version);
    // The workflow was just deleted, and with it the execution.
    if (!graph) return null;
    const standing = { currentStepId, startedAt: ids.startedAt, marks: steps };
    const { step, since } = placeOf(graph, standing);
    const hasBegun = steps.length > 1;
    return {
      start: {
        ...ids,
        ...(step && hasBegun && { resume: { stepId: step.id, since } }),
        ...(isMoved && { isMoved }),
        next: step ? refOf(step) : null,
      },
      projectName,
      key,
      causedBy,
      generation,
      hasEnded: !isActive({ status }),
      updatedAt,
    };
  });
  return (await Promise.all(starts)).filter((start) => start !== null);
}

/**
 * Returns the executions that have not changed since their start was sent, because no run has begun
 * them.
 */
export async function listUnbegun(db: Database, starts: readonly OpenStart[]): Promise<string[]> {
  const ids = starts.map(({ executionId }) => executionId);
  const { rows } = await sql<{ id: string }>`
    select id from execution join unnest(
        ${ids}::uuid[],
        ${starts.map(({ updatedAt }) => updatedAt)}::timestamptz[]) as sent(id, updated_at)
      using (id, updated_at)
      where ${among('execution', ids)}
        and status = 'RUNNING'`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Records the run that an operator's reset in Temporal has created for an execution. Returns false
 * if the execution has ended in the meantime, or another start was requested: the run must not
 * continue.
 */
export async function updateExecutionRun(
  db: Database,
  { executionId, generation, runId }: StartedRun,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('execution')
    .set({ temporal_run_id: runId })
    .where('id', '=', executionId)
    .where('start_generation', '=', generation)
    .where('status', 'in', ['RUNNING', 'WAITING'])
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
