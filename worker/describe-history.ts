import { defaultPayloadConverter, fromPayloadsAtIndex } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import type { StepResult } from '../activities/steps/perform.ts';
import type { StepActivities } from '../activities/steps/steps.ts';
import type { ExecutionStart } from '../domain/runs/execution.ts';
import type { StepRef } from '../domain/workflow/graph.ts';
import {
  type Command,
  follow,
  type Interruption,
  isInterruption,
  type Outcome,
  runOrComplete,
} from '../domain/workflow/decide.ts';
import {
  asked,
  attempts,
  ending,
  firstPayload,
  type HistoryEvent,
  type HistoryLine,
  summaryOf,
  timeOf,
} from './history-events.ts';
import { describeRun } from './describe-run.ts';

/**
 * Describes a recorded history. For an execution, describes each step of the customer's workflow:
 * its outcome, what it waited for, and where and why it failed. For any other run, describes its
 * activities, timers and signals.
 * @throws Error when the history does not begin with the start of a run
 */
export function describeHistory(history: History): HistoryLine[] {
  const [first, ...events] = history.events ?? [];
  const reader = readerOf(first);
  if (!first || !reader) return describeRun(history);
  const lines = [{ at: timeOf(first), text: reader.opening() }];
  for (const event of events) {
    for (const text of [reader.tell(event)].flat()) {
      if (text !== null) lines.push({ at: timeOf(event), text });
    }
  }
  const rest = reader.rest();
  if (rest) lines.push({ at: timeOf(events.at(-1) ?? first), text: rest });
  return lines;
}

/**
 * Returns the step of an execution just before an event of its history (`DELAY "One day"`); null
 * for other runs.
 */
export function stepAt({ events }: History, eventId: number): string | null {
  const [first, ...rest] = events ?? [];
  const reader = readerOf(first);
  for (const event of rest) if (Number(event.eventId) < eventId) reader?.tell(event);
  return reader?.place() ?? null;
}

function readerOf(first: HistoryEvent | undefined): ExecutionReader | null {
  const started = first?.workflowExecutionStartedEventAttributes;
  if (started?.workflowType?.name !== 'customerWorkflow') return null;
  return new ExecutionReader(
    fromPayloadsAtIndex<ExecutionStart>(defaultPayloadConverter, 0, started.input?.payloads),
  );
}

/** Reads the history of an execution and makes the same decisions as its run. */
class ExecutionReader {
  readonly #input: ExecutionStart;
  #command: Command<StepRef> = { do: 'complete' };
  /** The step after the current step, if the last result named it. */
  #next: StepRef | undefined;
  /** The steps read so far, by id. */
  readonly #steps = new Map<string, StepRef>();
  /** Text about failed earlier attempts of an activity. */
  #earlier = '';
  /** Summaries of timers, by the id of the event that started the timer. */
  readonly #timers = new Map<number, string>();
  /** The failure in the last described lines, so that it is not described twice. */
  #told: string | null = null;
  #isOpen = true;

  constructor(input: ExecutionStart) {
    this.#input = input;
    this.#enter(runOrComplete(input.next ?? undefined));
  }

  opening(): string {
    const { workflowName, version, contactId, resume } = this.#input;
    const where = resume ? `, from ${name(this.#step())}` : '';
    return `"${workflowName}" v${version} for contact ${contactId}${where}`;
  }

  /** Returns a text about the current work of an open run; null: the last line shows it already. */
  rest(): string | null {
    return this.#isOpen && this.#command.do === 'run' ? `is at ${name(this.#step())}` : null;
  }

  /** Returns the name of the current step. */
  place(): string {
    return name(this.#step());
  }

  /**
   * Describes an event in one line. If the event is the result of two steps, describes it in two
   * lines. null: the event is not shown.
   */
  tell(event: HistoryEvent): string | string[] | null {
    const begun = event.activityTaskStartedEventAttributes;
    if (begun) this.#earlier = attempts(begun);
    const done = event.activityTaskCompletedEventAttributes;
    if (done) return this.#result(firstPayload(done.result?.payloads) as Result);
    if (event.markerRecordedEventAttributes?.markerName === 'core_local_activity') {
      return this.#localResult(event.markerRecordedEventAttributes);
    }
    const failed =
      event.activityTaskFailedEventAttributes ?? event.workflowTaskFailedEventAttributes;
    if (failed) return this.#failure(event);
    const timer = event.timerStartedEventAttributes;
    if (timer) this.#timers.set(Number(event.eventId), summaryOf(event) ?? '');
    const fired = event.timerFiredEventAttributes;
    if (fired) return this.#timer(Number(fired.startedEventId));
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName === 'event') return this.#eventSignalled(signal);
    if (signal?.signalName === 'changed') return 'its row has changed';
    const end = ending(event);
    if (end) this.#isOpen = false;
    const { failure } = event.workflowExecutionFailedEventAttributes ?? {};
    if (failure && failure.message === this.#told) return 'FAILED';
    return end ?? asked(event);
  }

  #step(): StepRef | null {
    return 'step' in this.#command ? this.#command.step : null;
  }

  #localResult(
    marker: NonNullable<HistoryEvent['markerRecordedEventAttributes']>,
  ): string | string[] {
    const { failure } = marker;
    // A local activity with a retryable failure is tried again as a normal activity, so this
    // failure does not end the step.
    if (failure?.applicationFailureInfo?.nonRetryable) return this.#failed(failure);
    if (failure)
      return `${name(this.#step())} is tried again, as an activity, after: ${failure.message}`;
    return this.#result(firstPayload(marker.details?.['result']?.payloads) as Result);
  }

  #result(result: Result): string | string[] {
    const command = this.#command;
    const earlier = this.#earlier;
    this.#earlier = '';
    if (result && 'end' in result) return `the execution has ended: ${result.end}`;
    if (result && 'start' in result) return this.#look(result.start);
    if (result && 'kind' in result) return 'the row has changed';
    if (!('step' in command) || !result) return 'all steps are done';
    const { at, outcome, next, gaveUp } = result;
    if (isInterruption(outcome)) return `${name(command.step)} ${interruptions[outcome.kind]}`;
    if (command.do === 'await') this.#decide({ kind: 'resumed' });
    const text = `${name(command.step)} ${said(at ? { kind: 'done' } : outcome, gaveUp)}${earlier}`;
    if (at) this.#enter({ do: 'run', step: at });
    this.#decide(outcome, next);
    return at ? [text, `${name(at)} ${said(outcome)}`] : text;
  }

  /** Names the position at which the execution continues according to its row. */
  #look(start: ExecutionStart): string {
    const { workflowName, version } = start;
    const isHere = version === this.#input.version;
    if (isHere) this.#enter(runOrComplete(start.next ?? undefined));
    const where = isHere ? name(this.#step()) : `"${workflowName}" v${version}, in a new run`;
    return `the execution continues at ${where}`;
  }

  #failure(event: HistoryEvent): string {
    const step = event.activityTaskFailedEventAttributes;
    if (step) return this.#failed(step.failure ?? {});
    const task = event.workflowTaskFailedEventAttributes;
    const message = task?.failure?.message;
    // A reset ends the workflow task at which the history is cut, and names the new run.
    if (task?.newRunId) return `reset (${message}): continues from here, at ${name(this.#step())}`;
    return `a workflow task failed at ${name(this.#step())}: ${message}`;
  }

  #failed({ message }: { message?: string | null }): string {
    const step = this.#step();
    this.#told = message ?? null;
    const prefix = `Step "${step?.name}" failed: `;
    const reason = message?.startsWith(prefix) ? message.slice(prefix.length) : message;
    return `FAILED at ${name(step)}${this.#earlier}: ${reason}`;
  }

  /**
   * Describes a timer. The timer of a delay or wait has the name of its step as summary. A back-off
   * timer has no summary.
   */
  #timer(startedEventId: number): string {
    const step = this.#step();
    if (!this.#timers.get(startedEventId)?.includes(`"${step?.name}"`)) {
      return `${name(step)}: a back-off timer is over`;
    }
    this.#decide({ kind: 'resumed' });
    return `${name(step)}: its time is over`;
  }

  #eventSignalled({
    input,
  }: NonNullable<HistoryEvent['workflowExecutionSignaledEventAttributes']>): string {
    const { stepId } = firstPayload(input?.payloads) as { stepId: string };
    return `the event has come for ${name(this.#steps.get(stepId) ?? null)}`;
  }

  #decide(outcome: Outcome, next?: StepRef): void {
    const command = this.#command;
    if (!('step' in command)) return;
    if (outcome.kind !== 'resumed') this.#next = next;
    this.#enter(follow(command, outcome, this.#next));
  }

  #enter(command: Command<StepRef>): void {
    this.#command = command;
    const step = this.#step();
    if (step) this.#steps.set(step.id, step);
  }
}

/** The result of an activity in an execution. */
type Result =
  | StepResult
  | Awaited<ReturnType<StepActivities['FIND_POSITION']>>
  | Awaited<ReturnType<StepActivities['COMPLETE']>>;

const interruptions: Record<Interruption['kind'], string> = {
  held: 'is held: the execution is paused, or is being moved to another version',
  elsewhere: 'is not the current step of the execution',
};

function name(step: StepRef | null): string {
  return step ? `${step.type} "${step.name}"` : 'the end';
}

/**
 * Returns the outcome of a step in words.
 * @param gaveUp why the step failed, if the execution continued
 */
function said(outcome: Outcome, gaveUp?: string): string {
  const done = gaveUp === undefined ? 'done' : `gave up (${gaveUp}), the execution continues`;
  switch (outcome.kind) {
    case 'done':
      return done;
    case 'branch':
      return `took the branch "${outcome.branch}"`;
    case 'resting':
      return `delays until ${outcome.until}`;
    case 'waiting':
      return outcome.until ? `waits, at most until ${outcome.until}` : 'waits';
    case 'resumed':
      return 'continues';
    case 'ended':
      return `${done}, and all steps are done`;
    case 'exited':
      return 'ended the execution';
    case 'closed':
      return 'found the execution ended';
  }
}
