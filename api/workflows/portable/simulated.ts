import type { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { listSteps, type StepRow } from '../../../db/workflows/workflows.ts';
import { drawnAsStored, resolveBySteps } from '../../../domain/simulation/given.ts';
import { findStep, type Graph } from '../../../domain/workflow/graph.ts';
import { chosenBy, inputSchema } from '../../http/schemas.ts';
import { graphOf, ProposedGraph } from '../graph/proposed-graph.ts';
import { GivenGraph } from './input.ts';
import { keyedGraph } from './keyed-graph.ts';

/** The input of a simulation: a graph with ids or with keys, and receivers and arms by step. */

const KeyedGraph = GivenGraph.pick({ steps: true, transitions: true, exitRules: true }).meta({
  id: 'KeyedGraph',
});

export const SimulatedGraph = chosenBy((graph): typeof KeyedGraph | typeof ProposedGraph =>
  isKeyed(graph) ? KnownGraph : ProposedGraph,
).meta({
  description:
    'A graph that is not stored: with ids (`id`, `fromStepId`, `toStepId`), as in GET ' +
    '/workflows/{id}, or with keys (`key`, `from`, `to`), as in POST /workflows; the ' +
    "response then has the keys as ids. The trigger is the workflow's",
  anyOf: [ProposedGraph, KeyedGraph].map(inputSchema),
});

/**
 * The schema with all fields of a graph with keys, so that fields without effect on a simulation
 * are not reported as unknown.
 */
const KnownGraph = GivenGraph as unknown as typeof KeyedGraph;

/** Returns true if a graph has no field of the form with ids. */
function isKeyed(graph: unknown): boolean {
  const { steps, transitions } = Object(graph) as { steps?: unknown; transitions?: unknown };
  const has = (items: unknown, name: string) =>
    Array.isArray(items) && items.some((item) => Object.hasOwn(Object(item) as object, name));
  return !has(steps, 'id') && !has(transitions, 'fromStepId') && !has(transitions, 'toStepId');
}

/**
 * Returns the graph to simulate.
 * @throws Problem VALIDATION_ERROR for steps and transitions that break a rule of graphs
 */
export function simulatedGraph(given: z.output<typeof SimulatedGraph>): Graph {
  const isGivenKeyed = (graph: typeof given): graph is z.output<typeof KeyedGraph> =>
    graph.steps.some((step) => 'key' in step);
  return isGivenKeyed(given) ? keyedGraph(given, ['graph']) : graphOf(given, ['graph']);
}

/**
 * Resolves the receivers and arms that a request gives by step id or step key.
 * @returns the receivers by step id, and the graph with SPLIT steps that draw the given arms
 * @throws Problem VALIDATION_ERROR for unknown steps and arms
 */
export async function resolveGiven<Receiver>(
  db: Database,
  workflowId: string,
  graph: Graph,
  { webhooks = {}, arms = {} }: GivenBySteps<Receiver>,
): Promise<{ receivers: Map<string, Receiver>; graph: Graph }> {
  const names = [...Object.keys(webhooks), ...Object.keys(arms)];
  const stored = await storedSteps(db, workflowId, graph, names);
  const find = (name: string) => {
    const { id, key } = stored.find((step) => step.id === name || step.key === name) ?? {
      id: name,
      key: name,
    };
    return findStep(graph, id) ?? findStep(graph, key);
  };
  const resolved = resolveBySteps(graph, { webhooks, arms }, find, 'neither the id nor the key');
  const steps = resolved.graph.steps.map((step) => drawnAsStored(step, stored));
  return { ...resolved, graph: { ...graph, steps } };
}

/** Parts of a request for a simulation, each by step id or step key. */
interface GivenBySteps<Receiver> {
  webhooks?: Readonly<Record<string, Receiver>> | undefined;
  arms?: Readonly<Record<string, string>> | undefined;
}

type StoredStep = Pick<StepRow, 'id' | 'key'>;

/**
 * Returns the stored steps of a workflow, with ids and keys. Returns no steps if they are not
 * needed, because the graph has all `names` and no SPLIT.
 */
async function storedSteps(
  db: Database,
  workflowId: string,
  graph: Graph,
  names: readonly string[],
): Promise<StoredStep[]> {
  const isComplete = names.every((name) => findStep(graph, name));
  if (isComplete && graph.steps.every(({ type }) => type !== 'SPLIT')) return [];
  return listSteps(db, workflowId);
}
