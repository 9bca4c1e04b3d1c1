import type { ExitRule } from './exit-rules.ts';
import type { StepType } from './steps/registry.ts';

/**
 * The graph of a workflow. This module uses no clock and no zod, because it also runs in the
 * workflow sandbox.
 */

export interface GraphStep {
  id: string;
  type: StepType;
  name: string;
  config: Record<string, unknown>;
  templateId: string | null;
}

/** A step with the fields that a run knows. The rest is read when the step is performed. */
export interface StepRef extends Pick<GraphStep, 'id' | 'type' | 'name'> {
  /** Suffix of the task queue of its activity. Absent: a local activity performs it. */
  queue?: string;
}

export interface GraphTransition {
  id: string;
  fromStepId: string;
  toStepId: string;
  /** The result of the step that takes this transition; null: any result. */
  branch: string | null;
}

/** One version of a workflow, as its executions run it. */
export interface Graph {
  steps: GraphStep[];
  transitions: GraphTransition[];
  /** Absent: there are none. */
  exitRules?: readonly ExitRule[];
}

/** Returns the graph with these exit rules; without the key `exitRules` if there are none. */
export function withExitRules<G extends Graph>(graph: G, exitRules: readonly ExitRule[]): G {
  return exitRules.length === 0 ? graph : { ...graph, exitRules };
}

export function findStep(graph: Graph, stepId: string): GraphStep | undefined {
  return graph.steps.find((step) => step.id === stepId);
}

/** The templates that the steps of a graph name, each once. */
export function templateIdsOf({ steps }: Pick<Graph, 'steps'>): string[] {
  return [...new Set(steps.flatMap(({ templateId }) => templateId ?? []))];
}

export function waysOut(graph: Graph, stepId: string): GraphTransition[] {
  return graph.transitions.filter((transition) => transition.fromStepId === stepId);
}

/**
 * Returns the step that follows when a step ends with `branch` (null: it chose none): the target of
 * the transition of that branch, otherwise of the transition without a branch.
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

/** Returns the outgoing transitions of all steps that have any, by step id. */
export function waysByStep(graph: Graph): Map<string, GraphTransition[]> {
  const ways = new Map<string, GraphTransition[]>();
  for (const way of graph.transitions) {
    const known = ways.get(way.fromStepId);
    if (known) known.push(way);
    else ways.set(way.fromStepId, [way]);
  }
  return ways;
}

/** The steps reachable from any of these, themselves included. */
export function reachableFrom(graph: Graph, ...stepIds: string[]): Set<string> {
  const seen = new Set(stepIds);
  const open = [...stepIds];
  // Indexed once, because a graph may have thousands of steps.
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
