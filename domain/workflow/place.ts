import { firstStep } from './decide.ts';
import { findStep, type Graph, type GraphStep, stepAfter, type StepRef } from './graph.ts';
import { stepModules } from './steps/registry.ts';

/** Finds the position of an execution from its row and the rows of its steps. */

/** Returns the fields of a step that a run knows. */
export function refOf({ id, type, name }: GraphStep): StepRef {
  // A version may have steps of a type that this build does not know.
  const queue = stepModules[type]?.queue;
  return { id, type, name, ...(queue !== undefined && { queue }) };
}

/** The state of a step execution. Times are texts with microseconds, which sort by time. */
export interface StepMark {
  stepId: string;
  status: string;
  /** The branch taken; null: the step chose none. */
  branch: string | null;
  startedAt: string | null;
  /** When the step ended. A wait ends when its event is recorded or its time is over. */
  endedAt: string | null;
  /** The event that ended the step, if it was a wait. */
  eventId: string | null;
  /** True if the step was a digest and has closed. */
  hasClosed: boolean;
  /** True if the step called a webhook. */
  hasCalled: boolean;
  /** True if time passed in the step: it was a wait or a delay. */
  hasWaited: boolean;
  /** When the step is due, if it is SCHEDULED. */
  dueAt: string | null;
  /** True for a delay whose time is over. */
  isOver: boolean;
}

/** An active execution and its steps. */
export interface Standing {
  currentStepId: string | null;
  startedAt: string;
  marks: readonly StepMark[];
}

/**
 * Returns the branch that a step took, from its output; null: none. The SQL function `branchOf`
 * must agree.
 */
export function branchIn(output: Record<string, unknown> | null): string | null {
  const { branch, arm, waitOutcome } = output ?? {};
  if (typeof branch === 'string') return branch;
  if (typeof arm === 'string') return arm;
  return typeof waitOutcome === 'string' ? waitOutcome.toLowerCase() : null;
}

/** The step at which an execution continues, and the time from which this step counts events. */
export interface Place {
  /** undefined: no step is left. */
  step: GraphStep | undefined;
  since: string;
}

/**
 * Returns the position at which to continue: the current step, or the next one if the current step
 * is complete.
 */
export function placeOf(graph: Graph, standing: Standing): Place {
  const step = stepAt(graph, standing);
  const ends = standing.marks.flatMap(({ stepId, endedAt }) =>
    endedAt !== null && stepId !== step?.id ? [endedAt] : [],
  );
  const due = standing.marks.find(({ stepId }) => stepId === step?.id)?.dueAt ?? [];
  const since = [standing.startedAt, ...ends].concat(due).toSorted().at(-1);
  return { step, since: since ?? standing.startedAt };
}

function stepAt(graph: Graph, { currentStepId, marks }: Standing): GraphStep | undefined {
  const scheduled = marks.find((mark) => mark.status === 'SCHEDULED');
  const current = currentStepId === null ? undefined : findStep(graph, currentStepId);
  const mark = marks.find(({ stepId }) => stepId === currentStepId);
  const isDone = mark?.status === 'COMPLETED' || mark?.status === 'SKIPPED';
  // A delay is complete from its beginning, but its execution still waits in it.
  const isResting =
    current &&
    stepModules[current.type]?.rests === 'delay' &&
    mark?.status === 'COMPLETED' &&
    !mark.isOver;
  if (current && current.type !== 'TRIGGER' && (!isDone || isResting)) return current;
  if (scheduled) return findStep(graph, scheduled.stepId);
  if (!current) return firstStep(graph);
  return passOver(graph, stepAfter(graph, current.id, mark?.branch ?? null), marks);
}

/**
 * Returns the first step, from this one on, that an execution has not begun. Only an execution that
 * moved to another version can come to a step that it has already begun. At such a step, the
 * execution takes the same branch again.
 */
export function passOver(
  graph: Graph,
  from: GraphStep | undefined,
  marks: readonly StepMark[],
): GraphStep | undefined {
  for (let step = from; step;) {
    const { id } = step;
    const mark = marks.find(({ stepId }) => stepId === id);
    if (!mark || mark.status === 'SCHEDULED') return step;
    step = stepAfter(graph, id, mark.branch);
  }
  return undefined;
}

/**
 * Returns the time from which a wait counts events, so that no event between two steps is lost;
 * null: from the beginning of the wait. Otherwise it is the earliest of the following times after
 * which only steps that take no time come before the wait:
 * - the time at which the event of an earlier wait was recorded;
 * - the time at which a digest closed;
 * - the beginning of a webhook, because its receiver may track the event before it responds.
 *
 * @param marks of the execution's steps; all that have ended come before the wait
 */
export function countsFrom(marks: readonly StepMark[]): string | null {
  const ended = marks.filter(({ endedAt }) => endedAt !== null);
  const latestFirst = ended.toSorted((one, other) =>
    (one.startedAt ?? '') < (other.startedAt ?? '') ? 1 : -1,
  );
  let from: string | null = null;
  for (const { startedAt, endedAt, eventId, hasClosed, hasCalled, hasWaited } of latestFirst) {
    if (eventId !== null || hasClosed) return endedAt;
    if (hasWaited) break;
    if (hasCalled) from = startedAt;
  }
  return from;
}
