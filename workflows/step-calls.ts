import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { StepCallById, StepResult } from '../activities/steps/perform.ts';
import type { StepActivities } from '../activities/steps/steps.ts';
import { priorities } from '../domain/runs/runs.ts';
import type { ExecutionStart } from '../domain/runs/execution.ts';
import type { StepRef } from '../domain/workflow/graph.ts';
import { type PerformedType } from '../domain/workflow/steps/registry.ts';

// Transient errors are retried without limit; a step fails only by an error that is not retryable.
// On cancellation, the run waits for a step that has begun, because its effects cannot be undone.
const retry = { initialInterval: '500 ms', maximumInterval: '1 minute' } as const;
const effects = proxyActivities<StepActivities>({
  startToCloseTimeout: '1 minute',
  // The death of the worker is noticed after this time, and the step continues on another worker.
  heartbeatTimeout: '20 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});
// A local activity costs one history event instead of six. It must not occupy a workflow task for
// long, so after two failed attempts the step continues as a normal activity.
const tried = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { ...retry, maximumAttempts: 2 },
});

/** Completes an execution that has no step left, unless its row says that it continues. */
export async function complete({ executionId, version }: ExecutionStart): Promise<StepResult> {
  const interruption = await orAsActivity(
    () => tried.COMPLETE(executionId, version),
    () => effects.COMPLETE(executionId, version),
  );
  return { outcome: interruption ?? { kind: 'ended' } };
}

/**
 * Performs a step by the activity of its type: a local activity, or an activity with its own task
 * queue.
 */
export async function runStep(
  input: ExecutionStart,
  step: StepRef,
  since: string,
): Promise<StepResult> {
  // A run never performs the trigger.
  const type = step.type as PerformedType;
  return step.queue === undefined
    ? runLocally(input, type, step, since)
    : runAsActivity(input, type, step, since);
}

/** Ends a wait by its event or its timeout; the database decides which came first. */
export function settleWait(
  input: ExecutionStart,
  step: StepRef,
  since: string,
): Promise<StepResult> {
  return runLocally(input, 'SETTLE_WAIT', step, since);
}

/** Reads from the execution's row where the execution continues, or how it has ended. */
export function askPosition({
  executionId,
}: ExecutionStart): ReturnType<StepActivities['FIND_POSITION']> {
  return orAsActivity(
    () => tried.FIND_POSITION(executionId),
    () => effects.FIND_POSITION(executionId),
  );
}

async function runLocally(
  input: ExecutionStart,
  activity: PerformedType | 'SETTLE_WAIT',
  step: StepRef,
  since: string,
): Promise<StepResult> {
  const options = { summary: step.name };
  return orAsActivity(
    () => tried[activity].executeWithOptions(options, [stepCall(input, step, since)]),
    () => runAsActivity(input, activity, step, since),
  );
}

/**
 * Runs work as a local activity and, if that fails, as a normal activity. A permanent failure is
 * not tried again.
 */
async function orAsActivity<T>(locally: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
  try {
    return await locally();
  } catch (error) {
    // If this worker does not know the step's type, the workflow task fails. The run does not fail,
    // and continues on a worker that knows the type.
    if (!(error instanceof TemporalFailure)) throw error;
    const cause = error instanceof ActivityFailure ? error.cause : error;
    const isFinal = cause instanceof ApplicationFailure && cause.nonRetryable;
    if (isFinal || isCancellation(error)) throw error;
    return otherwise();
  }
}

async function runAsActivity(
  input: ExecutionStart,
  activity: PerformedType | 'SETTLE_WAIT',
  step: StepRef,
  since: string,
): Promise<StepResult> {
  const { queue } = step;
  const options = {
    summary: step.name,
    // All executions have the same priority for their steps, also if their runs have a higher
    // priority. So projects share the workers.
    priority: { priorityKey: priorities.usual, fairnessKey: input.projectId },
    ...(queue !== undefined && { taskQueue: `${workflowInfo().taskQueue}${queue}` }),
  };
  return effects[activity].executeWithOptions(options, [stepCall(input, step, since)]);
}

function stepCall(input: ExecutionStart, { id: stepId }: StepRef, since: string): StepCallById {
  const { executionId, projectId, workflowId, version, isMoved } = input;
  return {
    executionId,
    projectId,
    since,
    workflowId,
    version,
    stepId,
    ...(isMoved && { isMoved }),
  };
}
