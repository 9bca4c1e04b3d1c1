import type { ExitRule } from './exit-rules.ts';
import type { StepType } from './steps/registry.ts';

/**
 * The graph of a workflow. The module uses no clock and no zod, because it also runs in Temporal's
 * workflow sandbox.
 */

export interface GraphStep {
  id: string;
  type: StepType;
  name: string;
  config: Record<string, unknown>;
  templateId: string | null;
}

/**
 * The fields of a step that a run knows. The activity reads the others when it performs the step.
 */
export interface StepRef extends Pick<GraphStep, 'id' | 'type' | 'name'> {
  /** Suffix of the task queue that performs the step. Absent: a local activity performs it. */
  queue?: string;
}

export interface GraphTransition {
  id: string;
  fromStepId: string;
  toStepId: string;
  /** The result of the step for which this transition is taken; null: any result. */
  branch: string | null;
}

/** One version of a workflow, in the form in which executions run it. */
export interface Graph {
  steps: GraphStep[];
  transitions: GraphTransition[];
  /** Absent: the workflow has no exit rules. */
  exitRules?: readonly ExitRule[];
}

/** Returns the graph with these exit rules. If there are none, the key `exitRules` is absent. */
export function withExitRules<G extends Graph>(graph: G, exitRules: readonly ExitRule[]): G {
  return exitRules.length === 0 ? graph : { ...graph, exitRules };
}

export function findStep(graph: Graph, stepId: string): GraphStep | undefined {
  return graph.steps.find((step) => step.id === stepId);
}

/** Returns the ids of the templates in the steps of a graph, each once. */
export function templateIdsOf({ steps }: Pick<Graph, 'steps'>): string[] {
  return [...new Set(steps.flatMap(({ templateId }) => templateId ?? []))];
}

export function waysOut(graph: Graph, stepId: string): GraphTransition[] {
  return graph.transitions.filter((transition) => transition.fromStepId === stepId);
}

/**
 * Returns the step that follows a step which ends with `branch` (null: the step chose no branch).
 * The transition of this branch comes before the transition without a branch.
 */
export function stepAfter(
  graph: Graph,
  stepId: string,
  branch: string | null,
): GraphStep | undefined {
  const ways = waysOut(graph, stepId);
  const way =
    ways.find((transition) => transition.branch === branch) ??
    ways.find((transition) => transition.branch === null);
  return way && findStep(graph, way.toStepId);
}

/** Returns the outgoing transitions of each step, by step id. Steps without any are left out. */
export function waysByStep(graph: Graph): Map<string, GraphTransition[]> {
  const ways = new Map<string, GraphTransition[]>();
  for (const way of graph.transitions) {
    const known = ways.get(way.fromStepId);
    if (known) known.push(way);
    else ways.set(way.fromStepId, [way]);
  }
  return ways;
}

/** Returns the ids of the steps that are reachable from the given ones, which are included. */
export function reachableFrom(graph: Graph, ...stepIds: string[]): Set<string> {
  const seen = new Set(stepIds);
  const open = [...stepIds];
  // Index the transitions once, because a graph may have thousands of steps.
  const ways = waysByStep(graph);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const { toStepId } of ways.get(next) ?? []) {
      if (!seen.has(toStepId)) {
        seen.add(toStepId);
        open.push(toStepId);
      }
    }
  }
  return seen;
}
