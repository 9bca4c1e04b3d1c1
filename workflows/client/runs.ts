import {
  type Client,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
} from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common';
import {
  type DueStart,
  executionOfRun,
  executionRunId,
  deliveryRunId,
} from '../../domain/runs/execution.ts';
import type { RunState } from '../../domain/runs/reconcile.ts';
import {
  feedbackMailboxIdOf,
  platformFairness,
  priorities,
  type RunKind,
  type OutboxEntry,
} from '../../domain/runs/runs.ts';
import {
  contactKey,
  executionKey,
  projectKey,
  projectNameKey,
  statusKey,
  workflowKey,
  workflowNameKey,
} from './search-attributes.ts';

/**
 * Starts, signals and cancels runs from outside. Workflow types are named by text and not imported,
 * so that users of this file do not depend on workflow code.
 */

/**
 * Starts the run of an execution, unless it is started already. If the run of an earlier start has
 * just failed and is not closed yet, waits for its end. Starts for which a request waits
 * (`isAwaited`) have priority. Returns the run's id.
 * @throws when Temporal does not respond, or when the run of an earlier start does not end
 */
export async function startExecution(
  client: Client,
  taskQueue: string,
  due: DueStart & { isAwaited?: boolean },
): Promise<string> {
  const reuse = due.hasEnded ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY';
  const started = await tryStart(client, taskQueue, due, reuse);
  if (started) return started;
  const found = await client.workflow.getHandle(executionRunId(due.start.executionId)).describe();
  // The execution has ended. Another process had started its run, and died before it recorded the
  // start.
  if (due.hasEnded) return found.runId;
  if (servesStart(found, due)) {
    // The row may have changed since the run was started, so the run must read it again.
    await signalExecution(client, due.start.executionId);
    return found.runId;
  }
  await client.workflow
    .getHandle(found.workflowId, found.runId)
    .result()
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowFailedError)) throw error;
    });
  // The earlier run has ended, but the row says that this start is due, so another run is started.
  const next = await tryStart(client, taskQueue, due, 'ALLOW_DUPLICATE');
  if (!next)
    throw new Error(
      `Another process has started ${found.workflowId} at the same time. The outbox tries again.`,
    );
  return next;
}

/** Returns the id of the new run; null: the policy does not allow a run after the existing one. */
async function tryStart(
  client: Client,
  taskQueue: string,
  { start, projectName, key, causedBy, generation, isAwaited }: DueStart & { isAwaited?: boolean },
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY' | 'ALLOW_DUPLICATE',
): Promise<string | null> {
  try {
    const handle = await client.workflow.start('customerWorkflow', {
      taskQueue,
      workflowId: executionRunId(start.executionId),
      args: [start],
      workflowIdReusePolicy,
      ...memoOf({ generation, causedBy }),
      priority: {
        priorityKey: isAwaited ? priorities.requested : priorities.usual,
        fairnessKey: start.projectId,
      },
      staticSummary: `${start.workflowName} v${start.version}`,
      typedSearchAttributes: [
        { key: projectKey, value: start.projectId },
        { key: contactKey, value: start.contactId },
        { key: workflowKey, value: start.workflowId },
        { key: statusKey, value: 'RUNNING' },
        { key: projectNameKey, value: projectName },
        { key: workflowNameKey, value: start.workflowName },
        ...executionKey(key),
      ],
    });
    return handle.firstExecutionRunId;
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return null;
  }
}

/**
 * Returns the memo of a run, without values that are unknown. An actor consists of ids, never of
 * names or addresses.
 */
function memoOf(values: { generation?: number; causedBy?: string | null | undefined }) {
  const { causedBy = null, ...others } = values;
  const memo = causedBy === null ? others : { ...others, causedBy };
  return Object.keys(memo).length === 0 ? {} : { memo };
}

/** Returns true if a run belongs to this start, false if it belongs to an earlier start. */
function servesStart({ memo }: WorkflowExecutionDescription, due: DueStart): boolean {
  return Number(memo?.['generation']) >= due.generation;
}

/**
 * Starts the run that reads the mailbox of reports, unless it is open.
 * @param options.isChanged true: the settings may have changed, so an open run is signalled to read
 * the mailbox at once
 */
export async function startFeedbackMailbox(
  client: Client,
  taskQueue: string,
  { isChanged = false } = {},
): Promise<void> {
  const run = {
    taskQueue,
    workflowId: feedbackMailboxIdOf(taskQueue),
    args: [],
    staticSummary: 'Mailbox of bounces and complaints',
    priority: { priorityKey: priorities.usual, fairnessKey: platformFairness },
  };
  await (isChanged
    ? client.workflow.signalWithStart('feedbackMailbox', { ...run, signal: 'changed' })
    : client.workflow.start('feedbackMailbox', {
        ...run,
        workflowIdConflictPolicy: 'USE_EXISTING',
      }));
}

/** Asks the run of an execution to stop. Does nothing when it does not exist or has ended. */
export async function cancelExecution(client: Client, executionId: string): Promise<void> {
  await ignoreMissing(client.workflow.getHandle(executionRunId(executionId)).cancel());
}

/**
 * Signals the run of an execution. Returns false when the execution has no open run.
 * @param stepId the waiting step whose event has arrived; missing: the row of the execution has
 * changed
 */
export async function signalExecution(
  client: Client,
  executionId: string,
  stepId?: string,
): Promise<boolean> {
  const handle = client.workflow.getHandle(executionRunId(executionId));
  return ignoreMissing(
    stepId === undefined ? handle.signal('changed') : handle.signal('event', { stepId }),
  );
}

/**
 * Lists executions whose run on this task queue was closed after `since` in any way except
 * completion. Temporal's list of runs is about a second late, and drops runs after the retention of
 * the namespace.
 */
export async function* listClosedExecutions(client: Client, taskQueue: string, since: Date) {
  const query = [
    `WorkflowType = 'customerWorkflow' AND TaskQueue = '${taskQueue}'`,
    `ExecutionStatus IN ('Canceled', 'Failed', 'Terminated', 'TimedOut')`,
    `CloseTime > '${since.toISOString()}'`,
  ].join(' AND ');
  for await (const { workflowId } of client.workflow.list({ query })) {
    const executionId = executionOfRun(workflowId);
    if (executionId) yield executionId;
  }
}

/** Lists the executions whose run on our task queue was started after `since`. */
export async function* listStartedExecutions(client: Client, taskQueue: string, since: Date) {
  const query =
    `WorkflowType = 'customerWorkflow' AND TaskQueue = '${taskQueue}' ` +
    `AND StartTime > '${since.toISOString()}'`;
  for await (const { workflowId } of client.workflow.list({ query })) {
    const executionId = executionOfRun(workflowId);
    if (executionId) yield executionId;
  }
}

/**
 * Returns the state of the run of an execution.
 * @throws when Temporal does not respond.
 */
export async function describeExecutionRun(client: Client, executionId: string): Promise<RunState> {
  const handle = client.workflow.getHandle(executionRunId(executionId));
  const run = await handle.describe().catch((error: unknown) => {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  });
  if (!run) return { kind: 'missing' };
  if (run.status.name === 'RUNNING') {
    const { pendingWorkflowTask: task, pendingActivities } = run.raw;
    // An execution performs one step at a time, so at most one activity is pending.
    const activity = pendingActivities?.[0];
    const waitsSince =
      task && !task.startedTime ? Number(task.originalScheduledTime?.seconds) : null;
    return {
      kind: 'open',
      runId: run.runId,
      taskAttempts: task?.attempt ?? 0,
      activityAttempts: activity?.attempt ?? 0,
      untakenMs: waitsSince === null ? 0 : Date.now() - waitsSince * 1000,
      failure: activity?.lastFailure?.message ?? null,
    };
  }
  const generation = run.memo?.['generation'];
  return {
    kind: 'closed',
    end: ends[run.status.name] ?? 'ended',
    generation: typeof generation === 'number' ? generation : null,
  };
}

const ends: Readonly<Record<string, 'completed' | 'cancelled' | 'failed'>> = {
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
  FAILED: 'failed',
};

/** Signals the run that delivers the project's due mail, and starts it if needed. */
export async function signalDelivery(
  client: Client,
  taskQueue: string,
  projectId: string,
): Promise<void> {
  await client.workflow.signalWithStart('deliveryQueue', {
    taskQueue,
    workflowId: deliveryRunId(projectId),
    args: [projectId],
    signal: 'mailDue',
    // The priority is high, so that the few tasks of this run do not wait behind the many tasks of
    // executions.
    priority: { priorityKey: priorities.requested, fairnessKey: projectId },
    staticSummary: 'Transactional and workflow mail',
    typedSearchAttributes: [{ key: projectKey, value: projectId }],
  });
}

/** Signals a run that its rows have changed. Starts the run if it is not open. */
export async function signalRun(
  client: Client,
  taskQueue: string,
  entry: Pick<OutboxEntry, 'runId' | 'projectId' | 'kind' | 'input' | 'summary'> & {
    causedBy?: string | null;
  },
): Promise<void> {
  await client.workflow.signalWithStart(entry.kind, {
    taskQueue,
    workflowId: entry.runId,
    args: [entry.input],
    signal: 'changed',
    staticSummary: entry.summary,
    ...memoOf({ causedBy: entry.causedBy }),
    priority: {
      priorityKey: entry.kind === 'systemMail' ? priorities.attended : priorities.usual,
      fairnessKey: entry.projectId ?? platformFairness,
    },
    ...(entry.projectId === null
      ? {}
      : { typedSearchAttributes: [{ key: projectKey, value: entry.projectId }] }),
  });
}

/**
 * Asks the open runs of a removed project to stop, or terminates them with `force`. Returns the
 * number of these runs. The run of the removal itself is excluded. Runs that end by themselves are
 * excluded, too: the runs of event subscriptions, ramps, erasures and domains. A domain's run must
 * first remove the domain at the mail provider.
 */
export async function stopProjectRuns(
  client: Client,
  taskQueue: string,
  projectId: string,
  { force }: { force: boolean },
): Promise<number> {
  const kept: RunKind[] = [
    'projectReset',
    'projectDelete',
    'domainPoller',
    'ramp',
    'eventSubscription',
    'contactErasure',
  ];
  const query = [
    `ProjectId = '${projectId}' AND TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`,
    ...kept.map((kind) => `WorkflowType != '${kind}'`),
  ].join(' AND ');
  let open = 0;
  for await (const { workflowId, runId } of client.workflow.list({ query })) {
    const handle = client.workflow.getHandle(workflowId, runId);
    await ignoreMissing(
      force ? handle.terminate('The project of this run was deleted.') : handle.cancel(),
    );
    open += 1;
  }
  return open;
}

/** Awaits a call. Returns false if its run does not exist or has ended. */
async function ignoreMissing(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
