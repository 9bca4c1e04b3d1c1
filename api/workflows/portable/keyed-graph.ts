import type { z } from 'zod';
import type { Graph } from '../../../domain/workflow/graph.ts';
import { graphOf, type GraphFields } from '../graph/proposed-graph.ts';
import type { GivenGraph } from './input.ts';

/** Errors name a step by its key. */
const fields: GraphFields = {
  step: (key) => key,
  id: 'key',
  from: 'from',
  to: 'to',
  branch: 'branch',
};

/**
 * Returns the graph of a request, with the keys of its steps as their ids.
 * @throws Problem VALIDATION_ERROR when the graph breaks a rule
 */
export function keyedGraph(
  {
    steps,
    transitions,
    exitRules = [],
  }: Pick<z.output<typeof GivenGraph>, 'steps' | 'transitions' | 'exitRules'>,
  path: readonly string[],
): Graph {
  const named = steps.map(({ key, name, ...step }) => ({ ...step, id: key, name: name ?? key }));
  const ways = transitions.map(({ from, to, branch }) => ({
    fromStepId: from,
    toStepId: to,
    branch,
  }));
  return graphOf({ steps: named, transitions: ways, exitRules }, path, fields);
}
