import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  ContinueAsNew,
  continueAsNew,
  defineSignal,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { StepResult } from '../activities/steps/perform.ts';
import type { ExecutionEnd } from '../activities/steps/steps.ts';
import type { ExecutionStart } from '../domain/runs/execution.ts';
import type { StepRef } from '../domain/workflow/graph.ts';
import {
  type Command,
  type Doing,
  follow,
  isInterruption,
  runOrComplete,
} from '../domain/workflow/decide.ts';
import { askPosition, complete, runStep, settleWait } from './step-calls.ts';

/**
 * Signals that the event has arrived for which the step `stepId` waits. Repeating the signal is
 * harmless.
 */
const eventSignal = defineSignal<[{ stepId: string }]>('event');

/** The execution's row has changed: it was paused, released, skipped, moved or exited. */
const changedSignal = defineSignal('changed');

/** Number of commands after which a run continues as new, so that its history stays short. */
const commandsPerRun = 100;

/**
 * Milliseconds of a pause before the execution's row is read again although no signal has come. The
 * pause prevents a loop that uses the CPU without progress.
 */
const backOffMs = 1_000;

const statusKey = defineSearchAttributeKey('CustomerWorkflowStatus', SearchAttributeType.KEYWORD);
const failedStepKey = defineSearchAttributeKey('FailedStep', SearchAttributeType.KEYWORD);

/** The signals that a run has received and not yet handled. */
interface SignalState {
  /** The steps whose events have arrived. */
  events: Set<string>;
  /** True if the row of the execution has changed. */
  isChanged: boolean;
}

/** The current step of a run, by name, for operators. */
interface Position {
  step: string | null;
}

/**
 * One execution of a customer's workflow for one contact. The run walks the graph: an activity
 * performs each step and names the next step, `follow` derives the next command from the outcome,
 * and Temporal provides the clock and the order of events. An operator's action changes the
 * execution's row and signals the run, which then reads from the row where it continues.
 */
export async function customerWorkflow(input: ExecutionStart): Promise<ExecutionEnd> {
  const signals: SignalState = { events: new Set(), isChanged: false };
  const position: Position = { step: null };
  setHandler(eventSignal, ({ stepId }) => void signals.events.add(stepId));
  setHandler(changedSignal, () => {
    signals.isChanged = true;
  });
  try {
    const end = await walk(input, signals, position);
    showStatus(end);
    setCurrentDetails('');
    return end;
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    if (isCancellation(error)) showStatus('CANCELLED');
    else showStatus('FAILED', position.step);
    // The step's own error is thrown, because operators should read its message first.
    throw error instanceof ActivityFailure && error.cause instanceof ApplicationFailure
      ? error.cause
      : error;
  }
}

async function walk(
  input: ExecutionStart,
  signals: SignalState,
  position: Position,
): Promise<ExecutionEnd> {
  let since = input.resume?.since ?? input.startedAt;
  let command: Command<StepRef> = runOrComplete(input.next ?? undefined);
  let next: StepRef | undefined;
  /** Consecutive interruptions without a signal. */
  let unsignalledInterruptions = 0;
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
        next: step,
        resume: { stepId: step.id, since },
      });
    }
    const result =
      command.do === 'complete'
        ? await complete(input)
        : await perform(input, command, since, signals);
    const { outcome, at } = result;
    if (isInterruption(outcome)) {
      if (outcome.kind === 'held') await untilChanged(input, command, signals);
      // If the row and the step disagree, or clocks differ, the run would otherwise repeat this
      // loop without a pause.
      else if (!signals.isChanged && unsignalledInterruptions++ > 0) await sleep(backOffMs);
      const found = await findPosition(input, signals);
      if ('end' in found) return found.end;
      ({ since, command } = found);
      continue;
    }
    if (outcome.kind !== 'resting' && outcome.kind !== 'resumed') unsignalledInterruptions = 0;
    since = result.since ?? since;
    if (command.do === 'complete') return 'COMPLETED';
    // At the end of a delay, `next` is still the step that was named when the delay began.
    if (outcome.kind !== 'resumed') next = result.next;
    command = follow(at ? { do: 'run', step: at } : command, outcome, next);
  }
}

/** Waits until the row of the execution changes, without a timer. */
async function untilChanged(
  input: ExecutionStart,
  command: Command<StepRef>,
  signals: SignalState,
): Promise<void> {
  if ('step' in command) showProgress(input, `Held before "${command.step.name}"`);
  await condition(() => signals.isChanged);
}

/**
 * Reads from the row where the execution continues. If its position is in another version, the
 * execution continues in a new run.
 */
async function findPosition(
  input: ExecutionStart,
  signals: SignalState,
): Promise<{ end: ExecutionEnd } | { since: string; command: Command<StepRef> }> {
  // Signals that arrive after this point may be about a later state of the row.
  signals.isChanged = false;
  signals.events.clear();
  const position = await askPosition(input);
  if ('end' in position) return position;
  const { start } = position;
  if (start.version !== input.version) return await continueAsNew<typeof customerWorkflow>(start);
  const since = start.resume?.since ?? start.startedAt;
  return { since, command: runOrComplete(start.next ?? undefined) };
}

async function perform(
  input: ExecutionStart,
  command: Doing<StepRef>,
  since: string,
  signals: SignalState,
): Promise<StepResult> {
  const { step } = command;
  switch (command.do) {
    case 'run':
      showProgress(input, `At "${step.name}"`);
      return runStep(input, step, since);
    case 'sleep': {
      showProgress(input, `At "${step.name}", until ${command.until}`);
      const summary = `End of "${step.name}"`;
      if (await condition(() => signals.isChanged, untilMs(command.until), { summary })) {
        return { outcome: { kind: 'elsewhere' } };
      }
      return { outcome: { kind: 'resumed' }, since: command.until };
    }
    case 'await':
      showProgress(input, `At "${step.name}", until ${command.until ?? 'its event'}`);
      await awaitEvent(command, signals);
      return { outcome: { kind: signals.isChanged ? 'elsewhere' : 'resumed' } };
    case 'settle': {
      const settled = await settleWait(input, step, since);
      // After a repeated signal, or if clocks differ, the run would otherwise repeat this call
      // without a pause.
      if (settled.outcome.kind === 'waiting') await sleep(backOffMs);
      return settled;
    }
  }
}

async function awaitEvent(
  { step, until }: Extract<Command<StepRef>, { do: 'await' }>,
  signals: SignalState,
): Promise<void> {
  const isSignalled = () => signals.events.has(step.id) || signals.isChanged;
  if (until === null) await condition(isSignalled);
  else await condition(isSignalled, untilMs(until), { summary: `"${step.name}" times out` });
  signals.events.delete(step.id);
}

/** Returns the milliseconds from the run's current time to a moment; at least 1. */
function untilMs(moment: string): number {
  return Math.max(1, Date.parse(moment) - Date.now());
}

/** Shows the position of the run in the Temporal UI. */
function showProgress(input: ExecutionStart, details: string): void {
  // The summary of the run shows the version with which the run was started, so the current version
  // is shown here.
  setCurrentDetails(input.isMoved ? `Moved to v${input.version}. ${details}` : details);
}

/**
 * Sets the final status and the failed step as search attributes. Setting a status at each step
 * would cost the server as much as the step.
 */
function showStatus(value: 'FAILED' | ExecutionEnd, failedStep: string | null = null): void {
  upsertSearchAttributes([
    { key: statusKey, value },
    ...(failedStep === null ? [] : [{ key: failedStepKey, value: failedStep }]),
  ]);
}
