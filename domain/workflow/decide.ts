import { type Graph, type GraphStep, stepAfter, type StepRef } from './graph.ts';

/**
 * Decides how an execution walks through its graph, in pure functions. The run (`follow`) turns
 * commands into activities and timers; the simulator and tests (`decide`) use a virtual clock.
 * Times are ISO 8601 texts, so that the history of a run in Temporal is readable.
 */
export type Command<S extends StepRef = GraphStep> =
  | Doing<S>
  | { do: 'complete' }
  | { do: 'stop'; status: 'COMPLETED' | 'EXITED' | 'CANCELLED' };

/** A command that ends with an outcome. */
export type Doing<S extends StepRef = GraphStep> =
  | { do: 'run'; step: S }
  | { do: 'sleep'; step: S; until: string }
  | { do: 'await'; step: S; until: string | null }
  | { do: 'settle'; step: S };

/** The outcome of the last command. */
export type Outcome =
  /** The step is complete and chose no branch. */
  | { kind: 'done' }
  /** The step is complete and chose a branch. */
  | { kind: 'branch'; branch: string }
  /** The step is complete, and the next one begins at `until`. */
  | { kind: 'resting'; until: string }
  /** The step waits for an event, at most until `until`; null: without limit. */
  | { kind: 'waiting'; until: string | null }
  /** A sleep has ended, or the event or timeout of a wait has come. */
  | { kind: 'resumed' }
  /** The step is complete, no step follows, and the execution has ended. */
  | { kind: 'ended' }
  /** The step ended the execution. */
  | { kind: 'exited' }
  /** The execution ended by an action outside its run, such as a cancellation. */
  | { kind: 'closed' };

/**
 * The result of a command, instead of an outcome, when the run must wait or read its position
 * again.
 */
export type Interruption =
  /** The execution is paused, so the step may not begin. The run waits for a signal. */
  | { kind: 'held' }
  /** The position of the execution was changed outside its run. The row has the new position. */
  | { kind: 'elsewhere' };

export function isInterruption(outcome: Outcome | Interruption): outcome is Interruption {
  return outcome.kind === 'held' || outcome.kind === 'elsewhere';
}

export function begin(graph: Graph): Command {
  return runOrComplete(firstStep(graph));
}

/** Returns the step after the trigger; undefined: no step follows. */
export function firstStep(graph: Graph): GraphStep | undefined {
  const trigger = graph.steps.find((step) => step.type === 'TRIGGER');
  return trigger && stepAfter(graph, trigger.id, null);
}

/**
 * Returns the command that follows from `outcome` of the command `last`. Nothing follows `complete`
 * and `stop`.
 */
export function decide(graph: Graph, last: Doing, outcome: Outcome): Command {
  return follow(last, outcome, nextStep(graph, last.step.id, outcome));
}

/** Returns the next step after a step with this outcome, whether it begins at once or later. */
export function nextStep(graph: Graph, stepId: string, outcome: Outcome): GraphStep | undefined {
  switch (outcome.kind) {
    case 'done':
    case 'resting':
    case 'resumed':
      return stepAfter(graph, stepId, null);
    case 'branch':
      return stepAfter(graph, stepId, outcome.branch);
    default:
      return undefined;
  }
}

/** Like `decide`, for a caller that knows only the next step and not the graph. */
export function follow<S extends StepRef>(
  last: Doing<S>,
  outcome: Outcome,
  next: S | undefined,
): Command<S> {
  const { step } = last;
  switch (outcome.kind) {
    case 'done':
    case 'branch':
      return runOrComplete(next);
    case 'resting':
      return { do: 'sleep', step, until: outcome.until };
    case 'waiting':
      return { do: 'await', step, until: outcome.until };
    case 'resumed':
      // The database decides whether the event or the timeout came first.
      return last.do === 'await' ? { do: 'settle', step } : runOrComplete(next);
    case 'ended':
      return { do: 'stop', status: 'COMPLETED' };
    case 'exited':
      return { do: 'stop', status: 'EXITED' };
    case 'closed':
      return { do: 'stop', status: 'CANCELLED' };
  }
}

/** Returns the command for a run: run this step, or complete if there is no step. */
export function runOrComplete<S extends StepRef>(step: S | undefined): Command<S> {
  return step ? { do: 'run', step } : { do: 'complete' };
}
