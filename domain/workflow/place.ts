import { firstStep } from './decide.ts';
import { findStep, type Graph, type GraphStep, stepAfter, type StepRef } from './graph.ts';
import { stepModules } from './steps/registry.ts';

/** The position of an execution, from its row and the rows of its steps. */

/** Returns the fields of a step that a run knows. */
export function refOf({ id, type, name }: GraphStep): StepRef {
  // A version may have steps of a type that this build does not have.
  const queue = stepModules[type]?.queue;
  return { id, type, name, ...(queue !== undefined && { queue }) };
}

/** A step execution. Times are texts with microseconds; their order as texts is that of time. */
export interface StepMark {
  stepId: string;
  status: string;
  /** The branch taken, if it chose one. */
  branch: string | null;
  startedAt: string | null;
  /** When it ended; for a wait, when its event was recorded or when it timed out. */
  endedAt: string | null;
  /** The event that ended it, if it was a wait. */
  eventId: string | null;
  /** True if it was a digest, and has closed. */
  hasClosed: boolean;
  /** True if it has called a webhook. */
  hasCalled: boolean;
  /** True if time has passed in it: a wait or a delay. */
  hasWaited: boolean;
  /** When it was due, if it was SCHEDULED. */
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

/** Returns the branch that a step has taken, from its output; null: none. As `branchOf` in SQL. */
export function branchIn(output: Record<string, unknown> | null): string | null {
  const { branch, arm, waitOutcome } = output ?? {};
  if (typeof branch === 'string') return branch;
  if (typeof arm === 'string') return arm;
  return typeof waitOutcome === 'string' ? waitOutcome.toLowerCase() : null;
}

/** The step at which an execution continues, and since when that step counts events. */
export interface Place {
  /** Undefined: no step is left. */
  step: GraphStep | undefined;
  since: string;
}

/** Returns the position to continue at: the current step, or the next one if the current is done. */
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
  // A delay is complete from its beginning, but its execution still waits there.
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
 * was moved to another version meets steps it has begun. It skips them along the branches it took.
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
 * Returns since when a wait counts events, so that none between two steps is lost; null: since the
 * wait began. Only steps without waiting time may lie between the wait and these earlier steps:
 *  - A wait that an event ended: since that event was recorded.
 *  - A digest: since it closed.
 *  - A webhook: since it began, because its receiver may track the event before it responds.
 *
 * If several apply, the earliest time counts.
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
