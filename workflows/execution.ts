import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  isCancellation,
  patched,
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
import type { ExecutionEnd, StepActivities } from '../activities/steps/steps.ts';
import { type ExecutionStart, lookSignal } from '../domain/workflow/execution.ts';
import { findStep, stepAfter, type StepRef } from '../domain/workflow/graph.ts';
import { isPerformed, type PerformedType, stepKinds } from '../domain/workflow/step-types.ts';
import {
  begin,
  type Command,
  type Doing,
  follow,
  isInterruption,
  nextStep,
  runOrComplete,
} from '../domain/workflow/decide.ts';
import { priorities } from '../domain/runs.ts';

/**
 * Ends a wait: the event for `stepId` has arrived. Or, without a step (`lookSignal`): somebody has acted
 * on the execution's row. Repeating the signal is harmless.
 */
export const eventSignal = defineSignal<[{ stepId: string }]>('event');

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
const failedStepKey = defineSearchAttributeKey('FailedStep', SearchAttributeType.KEYWORD);

/** What a run was told by signals. */
interface Told {
  /** The steps whose event has come. */
  events: Set<string>;
  /** Somebody has acted on the execution. */
  isChanged: boolean;
}

/** The step that a run is at, by name, for operators. */
interface Position {
  step: string | null;
}

/**
 * One execution of a customer's workflow for one contact. It walks the graph: `decide` picks the
 * next step, activities perform it, Temporal provides the clock and the order of events. Who acts on
 * an execution changes its row; the run then looks there where it goes on.
 */
export async function customerWorkflow(input: ExecutionStart): Promise<ExecutionEnd> {
  const told: Told = { events: new Set(), isChanged: false };
  const position: Position = { step: null };
  setHandler(eventSignal, ({ stepId }) => {
    if (stepId !== lookSignal) told.events.add(stepId);
    // The version before took no notice: what it has gone on with must go on so.
    else if (patched('look')) told.isChanged = true;
  });
  try {
    const end = await walk(input, told, position);
    showStatus(end);
    setCurrentDetails('');
    return end;
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    if (isCancellation(error)) showStatus('CANCELLED');
    else showStatus('FAILED', position.step);
    // Operators should read the step's own message first.
    throw error instanceof ActivityFailure && error.cause instanceof ApplicationFailure
      ? error.cause
      : error;
  }
}

async function walk(input: ExecutionStart, told: Told, position: Position): Promise<ExecutionEnd> {
  let since = input.resume?.since ?? input.startedAt;
  let command: Command<StepRef> =
    input.format === 3
      ? runOrComplete(input.next ?? undefined)
      : begin(input.graph, input.resume?.stepId ?? null);
  let next: StepRef | undefined;
  /** How often, one after the other, it was elsewhere without being told. */
  let untold = 0;
  for (let steps = 0; ; steps++) {
    if (command.do === 'stop') return command.status;
    position.step = 'step' in command ? command.step.name : null;
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
    const result =
      command.do === 'complete'
        ? await complete(input)
        : await perform(input, command, since, told);
    const { outcome, at } = result;
    if (isInterruption(outcome)) {
      if (outcome.kind === 'held') await untilChanged(input, command, told);
      // Should the row and its step disagree, or the clocks, it must not ask again without a pause.
      else if (!told.isChanged && untold++ > 0) await sleep(putBackMs);
      const place = await findPlace(input, told);
      if ('end' in place) return place.end;
      ({ since, command } = place);
      continue;
    }
    if (outcome.kind !== 'resting' && outcome.kind !== 'resumed') untold = 0;
    since = result.since ?? since;
    if (command.do === 'complete') return 'COMPLETED';
    if (input.format !== 3) next = nextStep(input.graph, command.step.id, outcome);
    // What comes after a delay was told when it began.
    else if (outcome.kind !== 'resumed') next = result.next;
    command = follow(at ? { do: 'run', step: at } : command, outcome, next);
  }
}

/** Completes an execution that has no step left, unless somebody has acted on it. */
async function complete({ format, executionId, version }: ExecutionStart): Promise<StepResult> {
  const args = [executionId, version] as const;
  const interruption =
    format === 3
      ? await orAsActivity(
          () => tried.COMPLETE(...args),
          () => effects.COMPLETE(...args),
        )
      : await bookkeeping.COMPLETE(...args);
  return { outcome: interruption ?? { kind: 'ended' } };
}

/** Waits, without a timer, until somebody acts on an execution that is held before a step. */
async function untilChanged(
  input: ExecutionStart,
  command: Command<StepRef>,
  told: Told,
): Promise<void> {
  if ('step' in command) showProgress(input, 'WAITING', `Held before "${command.step.name}"`);
  await condition(() => told.isChanged);
}

/**
 * Where the row says that the execution goes on: somebody has acted on it. On another version it does
 * so in a new run.
 */
async function findPlace(
  input: ExecutionStart,
  told: Told,
): Promise<{ end: ExecutionEnd } | { since: string; command: Command<StepRef> }> {
  // What is signalled from here on, the row may not have said yet.
  told.isChanged = false;
  told.events.clear();
  const place = await orAsActivity(
    () => tried.FIND_PLACE(input.executionId),
    () => effects.FIND_PLACE(input.executionId),
  );
  if ('end' in place) return place;
  const { start } = place;
  if (start.format !== 3 || input.format !== 3 || start.version !== input.version) {
    return await continueAsNew<typeof customerWorkflow>(start);
  }
  const since = start.resume?.since ?? start.startedAt;
  return { since, command: runOrComplete(start.next ?? undefined) };
}

async function perform(
  input: ExecutionStart,
  command: Doing<StepRef>,
  since: string,
  told: Told,
): Promise<StepResult> {
  const { step } = command;
  switch (command.do) {
    case 'run':
      showProgress(input, 'RUNNING', `At "${step.name}"`);
      return runStep(input, step, since);
    case 'sleep': {
      showProgress(input, 'WAITING', `At "${step.name}", until ${command.until}`);
      const summary = `End of "${step.name}"`;
      if (await condition(() => told.isChanged, untilMs(command.until), { summary })) {
        return { outcome: { kind: 'elsewhere' } };
      }
      return { outcome: { kind: 'resumed' }, since: command.until };
    }
    case 'await':
      showProgress(input, 'WAITING', `At "${step.name}", until ${command.until ?? 'its event'}`);
      await awaitEvent(command, told);
      return { outcome: { kind: told.isChanged ? 'elsewhere' : 'resumed' } };
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
  const { executionId, projectId, workflowId, version, isMoved } = input;
  const ids = { executionId, projectId, since };
  if (input.format === 3)
    return { ...ids, workflowId, version, stepId, ...(isMoved && { isMoved }) };
  const step = findStep(input.graph, stepId);
  if (!step) throw new Error(`The graph has no step ${stepId}.`);
  return { ...ids, step, nextStepId: stepAfter(input.graph, stepId, null)?.id ?? null };
}

async function awaitEvent(
  { step, until }: Extract<Command<StepRef>, { do: 'await' }>,
  told: Told,
): Promise<void> {
  const isTold = () => told.events.has(step.id) || told.isChanged;
  if (until === null) await condition(isTold);
  else await condition(isTold, untilMs(until), { summary: `"${step.name}" times out` });
  told.events.delete(step.id);
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
  // The run's summary names the version on which the execution was started.
  setCurrentDetails(input.isMoved ? `Moved to v${input.version}. ${details}` : details);
}

/** Sets the status that operators see, unless it is set already, and where it failed. */
function showStatus(
  value: 'RUNNING' | 'WAITING' | 'FAILED' | ExecutionEnd,
  failedStep: string | null = null,
): void {
  if (workflowInfo().typedSearchAttributes.get(statusKey) === value) return;
  upsertSearchAttributes([
    { key: statusKey, value },
    ...(failedStep === null ? [] : [{ key: failedStepKey, value: failedStep }]),
  ]);
}
