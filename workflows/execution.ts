import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { StepCall, StepCallById, StepResult } from '../activities/steps/perform.ts';
import type { StepActivities } from '../activities/steps/steps.ts';
import type { ExecutionStart } from '../domain/workflow/execution.ts';
import { findStep, stepAfter, type StepRef } from '../domain/workflow/graph.ts';
import { isPerformed, type PerformedType, stepKinds } from '../domain/workflow/step-types.ts';
import {
  begin,
  type Command,
  type Doing,
  follow,
  nextStep,
  runOrComplete,
} from '../domain/workflow/decide.ts';
import { priorities } from '../domain/runs.ts';

/** Ends a wait: the event for `stepId` has arrived. Repeating the signal is harmless. */
export const eventSignal = defineSignal<[{ stepId: string }]>('event');

/** How an execution's run ended: its result in Temporal. */
export type ExecutionEnd = 'COMPLETED' | 'EXITED' | 'CANCELLED';

/** Commands per run; then it continues as new, with a short history. */
const commandsPerRun = 100;

/** Pause after a wait that a stray signal has interrupted. */
const putBackMs = 1_000;

// Transient errors are retried without limit: a step fails only when its activity says so. On
// cancellation, the run waits for effects that cannot be undone.
const retry = { initialInterval: '500 ms', maximumInterval: '1 minute' } as const;
const effects = proxyActivities<StepActivities>({
  startToCloseTimeout: '1 minute',
  // How long a step pauses after its worker was killed. A worker of the version before has no
  // heartbeats: long enough for its slowest step, a webhook.
  heartbeatTimeout: '20 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});
// Pure bookkeeping runs as local activities: one history event instead of six.
const bookkeeping = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '1 minute',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry,
});

// A step must not keep the place of a workflow task while it waits for something: after a second try
// it goes on as an activity, which Temporal repeats outside of it.
const tried = proxyLocalActivities<StepActivities>({
  startToCloseTimeout: '10 seconds',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: { ...retry, maximumAttempts: 2 },
});

const statusKey = defineSearchAttributeKey('CustomerWorkflowStatus', SearchAttributeType.KEYWORD);

/**
 * One execution of a customer's workflow for one contact. It walks the graph: `decide` picks the
 * next step, activities perform it, Temporal provides the clock and the order of events.
 */
export async function customerWorkflow(input: ExecutionStart): Promise<ExecutionEnd> {
  const signalled = new Set<string>();
  setHandler(eventSignal, ({ stepId }) => void signalled.add(stepId));
  try {
    const end = await walk(input, signalled);
    showStatus(end);
    setCurrentDetails('');
    return end;
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    showStatus(isCancellation(error) ? 'CANCELLED' : 'FAILED');
    // Operators should read the step's own message first.
    throw error instanceof ActivityFailure && error.cause instanceof ApplicationFailure
      ? error.cause
      : error;
  }
}

async function walk(input: ExecutionStart, signalled: Set<string>): Promise<ExecutionEnd> {
  let since = input.resume?.since ?? input.startedAt;
  let command: Command<StepRef> =
    input.format === 3
      ? runOrComplete(input.next ?? undefined)
      : begin(input.graph, input.resume?.stepId ?? null);
  let next: StepRef | undefined;
  for (let steps = 0; ; steps++) {
    if (command.do === 'complete') {
      await (input.format === 3
        ? orAsActivity(
            () => tried.COMPLETE(input.executionId),
            () => effects.COMPLETE(input.executionId),
          )
        : bookkeeping.COMPLETE(input.executionId));
      return 'COMPLETED';
    }
    if (command.do === 'stop') return command.status;
    if (
      command.do === 'run' &&
      (steps >= commandsPerRun || workflowInfo().continueAsNewSuggested)
    ) {
      const { step } = command;
      return await continueAsNew<typeof customerWorkflow>({
        ...input,
        ...(input.format === 3 && { next: step }),
        resume: { stepId: step.id, since },
      });
    }
    const result = await perform(input, command, since, signalled);
    since = result.since ?? since;
    const { outcome } = result;
    if (input.format !== 3) next = nextStep(input.graph, command.step.id, outcome);
    // What comes after a delay was told when it began.
    else if (outcome.kind !== 'resumed') next = result.next;
    command = follow(command, outcome, next);
  }
}

async function perform(
  input: ExecutionStart,
  command: Doing<StepRef>,
  since: string,
  signalled: Set<string>,
): Promise<StepResult> {
  const { step } = command;
  switch (command.do) {
    case 'run':
      showProgress(input, 'RUNNING', `At "${step.name}"`);
      return runStep(input, step, since);
    case 'sleep':
      showProgress(input, 'WAITING', `At "${step.name}", until ${command.until}`);
      await sleep(untilMs(command.until), { summary: `End of "${step.name}"` });
      return { outcome: { kind: 'resumed' }, since: command.until };
    case 'await':
      showProgress(input, 'WAITING', `At "${step.name}", until ${command.until ?? 'its event'}`);
      await awaitEvent(command, signalled);
      return { outcome: { kind: 'resumed' } };
    case 'settle': {
      const settled = await runLocally(input, 'SETTLE_WAIT', step, since);
      // A stray signal. If the clocks differ much, it must not ask again without a pause.
      if (settled.outcome.kind === 'waiting') await sleep(putBackMs);
      return settled;
    }
  }
}

/** The steps that were activities before format 3. */
const formerActivities: readonly PerformedType[] = ['SEND_EMAIL', 'UPDATE_CONTACT'];

async function runStep(input: ExecutionStart, step: StepRef, since: string): Promise<StepResult> {
  const { type } = step;
  // Fails the workflow task, not the run: it continues once a worker knows the step.
  if (!isPerformed(type)) throw new Error(`This worker does not know steps of type ${type}.`);
  const isLocal = stepKinds[type].runs === 'local';
  if (isLocal && (input.format === 3 || !formerActivities.includes(type))) {
    return runLocally(input, type, step, since);
  }
  return runAsActivity(input, type, step, since);
}

async function runLocally(
  input: ExecutionStart,
  activity: PerformedType | 'SETTLE_WAIT',
  step: StepRef,
  since: string,
): Promise<StepResult> {
  const options = { summary: step.name };
  const args = [stepCall(input, step, since)] as const;
  if (input.format !== 3) return bookkeeping[activity].executeWithOptions(options, [...args]);
  return orAsActivity(
    () => tried[activity].executeWithOptions(options, [...args]),
    () => runAsActivity(input, activity, step, since),
  );
}

/** Work that is tried in the workflow task first. What fails for good does so at once. */
async function orAsActivity<T>(locally: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
  try {
    return await locally();
  } catch (error) {
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
  const { taskQueue } = activity === 'SETTLE_WAIT' ? {} : stepKinds[activity];
  const options = {
    summary: step.name,
    // The projects share the workers, whatever the run's own priority. Runs that began before
    // fairness keys existed get one for their steps here.
    priority: { priorityKey: priorities.usual, fairnessKey: input.projectId },
    ...(taskQueue && { taskQueue: `${workflowInfo().taskQueue}${taskQueue}` }),
  };
  return effects[activity].executeWithOptions(options, [stepCall(input, step, since)]);
}

function stepCall(
  input: ExecutionStart,
  { id: stepId }: StepRef,
  since: string,
): StepCallById | StepCall {
  const { executionId, projectId, workflowId, version } = input;
  const ids = { executionId, projectId, since };
  if (input.format === 3) return { ...ids, workflowId, version, stepId };
  const step = findStep(input.graph, stepId);
  if (!step) throw new Error(`The graph has no step ${stepId}.`);
  return { ...ids, step, nextStepId: stepAfter(input.graph, stepId, null)?.id ?? null };
}

async function awaitEvent(
  { step, until }: Extract<Command<StepRef>, { do: 'await' }>,
  signalled: Set<string>,
): Promise<void> {
  const isSignalled = () => signalled.has(step.id);
  if (until === null) await condition(isSignalled);
  else await condition(isSignalled, untilMs(until), { summary: `"${step.name}" times out` });
  signalled.delete(step.id);
}

/** Milliseconds from the run's current time; at least 1. */
function untilMs(moment: string): number {
  return Math.max(1, Date.parse(moment) - Date.now());
}

/**
 * Shows where the run is. The status is a search attribute: each change costs the server as much as
 * a step, so current runs set only the final one.
 */
function showProgress(input: ExecutionStart, status: 'RUNNING' | 'WAITING', details: string): void {
  if (input.format === undefined) showStatus(status);
  setCurrentDetails(details);
}

/** Sets the status that operators see, unless it is set already. */
function showStatus(value: 'RUNNING' | 'WAITING' | 'FAILED' | ExecutionEnd): void {
  if (workflowInfo().typedSearchAttributes.get(statusKey) === value) return;
  upsertSearchAttributes([{ key: statusKey, value }]);
}
