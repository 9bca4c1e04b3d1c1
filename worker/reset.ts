import { randomUUID } from 'node:crypto';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { WorkflowBundleOption } from '@temporalio/worker';
import type { Database } from '../db/database.ts';
import { updateExecutionRun } from '../db/workflows/executions/starts.ts';
import { isActive } from '../db/workflows/executions/executions.ts';
import { executionRunId } from '../domain/runs/execution.ts';
import { replayHistory } from './replay.ts';

type HistoryEvent = NonNullable<History['events']>[number];

/**
 * The services that a reset needs: the database, Temporal, and the code with which the run
 * continues.
 */
export interface ResetServices {
  db: Database;
  client: Client;
  bundle: WorkflowBundleOption;
}

/**
 * Thrown with the reason why an execution is not reset, and what to do instead. The message is for
 * the operator.
 */
export class NotReset extends Error {}

/**
 * Continues an active execution in a new run, if its run has ended or cannot be replayed by the
 * current code. The new run keeps the history of the old run up to the last safe point, and repeats
 * the work after it. No effect happens twice, because a completed step returns its stored result.
 * Returns the id of the new run.
 * @throws NotReset when a reset does not help (then nothing has changed), or when the execution was
 * deleted or started again meanwhile
 */
export async function resetExecution(
  services: ResetServices,
  executionId: string,
): Promise<{ runId: string; eventId: number }> {
  const { client, db } = services;
  const { generation } = await refuseByRow(db, executionId);
  const workflowId = executionRunId(executionId);
  const description = await client.workflow.getHandle(workflowId).describe();
  const history = await client.workflow.getHandle(workflowId, description.runId).fetchHistory();
  const point = await resetPoint(services.bundle, description, history.events ?? []);
  const { runId } = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId: description.runId },
    workflowTaskFinishEventId: point.eventId ?? null,
    reason: 'npm run reset',
    requestId: randomUUID(),
  });
  if (!(await updateExecutionRun(db, { executionId, generation, runId }))) {
    await client.workflow.getHandle(workflowId, runId).cancel();
    throw new NotReset(
      'The execution has ended, was deleted or was started again during the reset. So its new run was ' +
        'cancelled, and nothing is left to do.',
    );
  }
  return { runId, eventId: Number(point.eventId) };
}

/**
 * Refuses a reset unless the execution is active and its start has reached Temporal. The row of the
 * execution decides this, because the API shows the row.
 */
async function refuseByRow(db: Database, id: string): Promise<{ generation: number }> {
  const row = await db
    .selectFrom('execution')
    .select([
      'workflow_id',
      'workflow_version',
      'status',
      'error',
      'start_generation as generation',
    ])
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom('outbox')
            .select('run_id')
            .where('run_id', '=', executionRunId(id))
            .where('action', '=', 'start'),
        )
        .as('isStarting'),
    )
    .where('id', '=', id)
    .executeTakeFirst();
  if (!row) throw new NotReset(`There is no execution ${id}.`);
  if (row.status === 'FAILED') {
    throw new NotReset(
      `The execution has FAILED: ${row.error}\n` +
        'A reset would fail in the same way. Fix the cause first: the receiver, template, sender ' +
        'domain or contact. Then retry the step:\n' +
        `  POST /workflows/${row.workflow_id}/executions/${id}/retry\n` +
        `It continues on version ${row.workflow_version} of the workflow. The body ` +
        '{"version": <number>} chooses another one, for example one with a corrected step.',
    );
  }
  if (!isActive(row)) {
    throw new NotReset(`The execution is ${row.status}: there is nothing left to do.`);
  }
  if (row.isStarting) {
    throw new NotReset(
      'The start of this execution has not reached Temporal yet. Wait: the sweep sends it within a minute.',
    );
  }
  return row;
}

/** Returns the event at which to reset: the end of a workflow task. @throws NotReset */
async function resetPoint(
  bundle: WorkflowBundleOption,
  { status, runId }: WorkflowExecutionDescription,
  events: HistoryEvent[],
): Promise<HistoryEvent> {
  const points = safePoints(events);
  if (status.name === 'RUNNING' && (await replayHistory(bundle, { events }, runId)) === null) {
    throw new NotReset(
      'The run is open, and the current code can replay it, so it continues by itself. If ' +
        'its workflow tasks fail, restart the workers with this code.',
    );
  }
  if (points.length === 0) {
    throw new NotReset(
      'The run ended before its first workflow task, so there is no point to reset to. Its ' +
        'execution becomes FAILED within minutes; retry it then.',
    );
  }
  // The latest point is tried first. The code must match the history up to the point.
  for (const point of points.toReversed()) {
    const before = events.slice(0, events.indexOf(point));
    if ((await replayHistory(bundle, { events: before }, runId)) === null) return point;
  }
  throw new NotReset(
    'The history of this run and the current code differ from the first step on. Start a worker with the code that ran it, or cancel the execution.',
  );
}

/**
 * Returns the ends of workflow tasks at which a run may be reset, oldest first. A new run must not
 * repeat a failed step or a cancel request, because it would end in the same way. So the last safe
 * point is the task that scheduled the failed step, or the last task before the request.
 */
function safePoints(events: HistoryEvent[]): HistoryEvent[] {
  const failed = events.findLast(
    (event) =>
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.markerRecordedEventAttributes?.failure,
  );
  const stop = events.find((event) => event.workflowExecutionCancelRequestedEventAttributes);
  const last = Math.min(
    failed ? taskThatScheduled(events, failed) : Infinity,
    stop ? Number(stop.eventId) : Infinity,
  );
  return events.filter(
    (event) => event.workflowTaskCompletedEventAttributes && Number(event.eventId) <= last,
  );
}

function taskThatScheduled(events: HistoryEvent[], failed: HistoryEvent): number {
  const remote =
    failed.activityTaskFailedEventAttributes ?? failed.activityTaskTimedOutEventAttributes;
  const marker = failed.markerRecordedEventAttributes?.workflowTaskCompletedEventId;
  if (!remote) return Number(marker);
  const scheduled = events.find(
    ({ eventId }) => Number(eventId) === Number(remote.scheduledEventId),
  );
  return Number(scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId);
}
