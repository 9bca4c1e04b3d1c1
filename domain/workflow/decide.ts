import { findStep, type Graph, type GraphStep, stepAfter, waitBranches } from './graph.ts';

/**
 * How an execution walks its graph: a pure function picks the next command. The workflow run turns
 * commands into activities and timers; tests drive the same function with a virtual clock. Times
 * are ISO 8601 texts, so that a recorded history is readable.
 */
export type Command =
  | { do: 'run'; step: GraphStep }
  | { do: 'sleep'; step: GraphStep; until: string }
  | { do: 'await'; step: GraphStep; until: string | null }
  | { do: 'settle'; step: GraphStep }
  | { do: 'complete' }
  | { do: 'stop'; status: 'COMPLETED' | 'EXITED' | 'CANCELLED' };

/** The outcome of the last command. */
export type Outcome =
  /** The step is complete and has one outgoing edge. */
  | { kind: 'done' }
  /** The step is complete and chose a branch. */
  | { kind: 'branch'; branch: string }
  /** The step is complete; the next one begins at this time. */
  | { kind: 'resting'; until: string }
  /** The step waits for its event, at most until this time. */
  | { kind: 'waiting'; until: string | null }
  /** A sleep is over, or the event or timeout of a wait has come. */
  | { kind: 'resumed' }
  /** The step is complete and was the last one: the execution has ended. */
  | { kind: 'ended' }
  /** The step ended the execution. */
  | { kind: 'exited' }
  /** Somebody else ended the execution. */
  | { kind: 'closed' };

/** The first command: the step after the trigger, or `stepId` when a failed step is retried. */
export function begin(graph: Graph, stepId: string | null): Command {
  if (stepId !== null) return runOrComplete(findStep(graph, stepId));
  const trigger = graph.steps.find((step) => step.type === 'TRIGGER');
  return runOrComplete(trigger && stepAfter(graph, trigger.id, null));
}

/** The command that follows `outcome` of `last`. Nothing follows `complete` and `stop`. */
export function decide(
  graph: Graph,
  last: Exclude<Command, { do: 'complete' | 'stop' }>,
  outcome: Outcome,
): Command {
  const { step } = last;
  switch (outcome.kind) {
    case 'done':
      return runOrComplete(stepAfter(graph, step.id, null));
    case 'branch':
      return runOrComplete(stepAfter(graph, step.id, outcome.branch));
    case 'resting':
      return { do: 'sleep', step, until: outcome.until };
    case 'waiting':
      return { do: 'await', step, until: outcome.until };
    case 'resumed':
      // The database decides which of event and timeout came first.
      return last.do === 'await'
        ? { do: 'settle', step }
        : runOrComplete(stepAfter(graph, step.id, null));
    case 'ended':
      return { do: 'stop', status: 'COMPLETED' };
    case 'exited':
      return { do: 'stop', status: 'EXITED' };
    case 'closed':
      return { do: 'stop', status: 'CANCELLED' };
  }
}

/** The outcome of a wait that ended by its event or its timeout. */
export function waitOutcome(result: keyof typeof waitBranches): Outcome {
  return { kind: 'branch', branch: waitBranches[result] };
}

function runOrComplete(step: GraphStep | undefined): Command {
  return step ? { do: 'run', step } : { do: 'complete' };
}
