import type { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { listSteps } from '../../../db/workflows/workflows.ts';
import { invalidField, Refusals } from '../../../domain/errors.ts';
import { findStep, type Graph } from '../../../domain/workflow/graph.ts';
import { keysOf } from '../../../domain/workflow/portable/step-keys.ts';
import { chosenBy, inputSchema } from '../../http/schemas.ts';
import { graphOf, ProposedGraph } from '../graph/proposed-graph.ts';
import { GivenGraph } from './record.ts';
import { keyedGraph } from './storing.ts';

/** The input of a simulation: a graph in either form, and receivers by id or key of their step. */

const KeyedGraph = GivenGraph.pick({ steps: true, transitions: true, exitRules: true }).meta({
  id: 'KeyedGraph',
});

/** A graph by the ids of its steps, as GET /workflows/{id} has it, or by their keys, as GET …/graph. */
export const SimulatedGraph = chosenBy((graph): typeof KeyedGraph | typeof ProposedGraph =>
  isKeyed(graph) ? KnownGraph : ProposedGraph,
).meta({
  description:
    'A graph that is not stored: with ids (`id`, `fromStepId`, `toStepId`), as GET /workflows/{id} answers ' +
    'it, or with keys (`key`, `from`, `to`), as POST /workflows takes it; its keys are the ids of the answer ' +
    'then. The trigger is that of the workflow',
  anyOf: [ProposedGraph, KeyedGraph].map(inputSchema),
});

/** A graph by keys with all its fields, also those that are not played. */
const KnownGraph = GivenGraph as unknown as typeof KeyedGraph;

/** True if a graph has no name of the form with ids. */
function isKeyed(graph: unknown): boolean {
  const { steps, transitions } = Object(graph) as { steps?: unknown; transitions?: unknown };
  const has = (items: unknown, name: string) =>
    Array.isArray(items) && items.some((item) => Object.hasOwn(Object(item) as object, name));
  return !has(steps, 'id') && !has(transitions, 'fromStepId') && !has(transitions, 'toStepId');
}

/** @throws Problem VALIDATION_ERROR on what breaks a rule of graphs */
export function simulatedGraph(given: z.output<typeof SimulatedGraph>): Graph {
  const isGivenKeyed = (graph: typeof given): graph is z.output<typeof KeyedGraph> =>
    graph.steps.some((step) => 'key' in step);
  return isGivenKeyed(given) ? keyedGraph(given, ['graph']) : graphOf(given, ['graph']);
}

/**
 * Returns the answers of receivers, by the ids of the steps in the graph that is played.
 * @param given by the id or the key of a step
 * @throws Problem VALIDATION_ERROR for an unknown step
 */
export async function receiversOf<Receiver>(
  db: Database,
  workflowId: string,
  graph: Graph,
  given: Readonly<Record<string, Receiver>>,
): Promise<Map<string, Receiver>> {
  const names = Object.keys(given);
  const others = names.every((name) => findStep(graph, name))
    ? new Map<string, string>()
    : await otherNames(db, workflowId);
  const receivers = new Map<string, Receiver>();
  const refusals = new Refusals();
  for (const [name, receiver] of Object.entries(given)) {
    const step = [name, others.get(name) ?? ''].find((id) => findStep(graph, id));
    if (step !== undefined) receivers.set(step, receiver);
    else {
      const message = 'Must be the id or the key of a step of the graph.';
      refusals.add(invalidField(`webhooks.${name}`, 'not_found', message));
    }
  }
  refusals.throw();
  return receivers;
}

/** The keys of a workflow's steps by their ids, and the ids by the keys. */
async function otherNames(db: Database, workflowId: string): Promise<Map<string, string>> {
  const steps = await listSteps(db, workflowId);
  const keys = keysOf(steps);
  return new Map(
    steps.flatMap(({ id }, index): [string, string][] => {
      const key = keys[index] ?? '';
      return [
        [id, key],
        [key, id],
      ];
    }),
  );
}
