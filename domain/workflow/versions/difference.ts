import { jsonBytes } from '../../contact/data.ts';
import { isJsonEqual } from '../../filter/value.ts';
import type { Graph } from '../graph.ts';

/**
 * Stores large graphs as the difference from an earlier whole graph. Stored whole, ten thousand
 * small edits of a graph of one megabyte would take ten gigabytes.
 */

/**
 * The steps and transitions that changed, by id (null: removed), and all other fields of the graph.
 */
export type GraphDifference<G extends Graph> = Omit<G, 'steps' | 'transitions'> & {
  steps: Record<string, G['steps'][number] | null>;
  transitions: Record<string, G['transitions'][number] | null>;
};

export interface StoredGraph<G extends Graph> {
  whole: G;
  /** null: the graph is equal to `whole`. */
  difference: GraphDifference<G> | null;
}

/** Size in bytes of JSON up to which a graph is always stored whole. */
const wholeBytes = 16 * 1024;
/** A difference is stored only if its JSON is at most this fraction of the graph's JSON. */
const differencePart = 1 / 16;

/**
 * Returns the difference of a graph from an earlier one; null: the graph should be stored whole.
 */
export function smallDifference<G extends Graph>(whole: G, graph: G): GraphDifference<G> | null {
  const bytes = jsonBytes(graph);
  if (bytes <= wholeBytes) return null;
  const difference = {
    ...graph,
    steps: listDifference(whole.steps, graph.steps),
    transitions: listDifference(whole.transitions, graph.transitions),
  };
  return jsonBytes(difference) <= bytes * differencePart ? difference : null;
}

function listDifference<Item extends { id: string }>(
  before: readonly Item[],
  after: readonly Item[],
): Record<string, Item | null> {
  const known = new Map(before.map((item) => [item.id, item]));
  const kept = new Set(after.map(({ id }) => id));
  return Object.fromEntries([
    ...before.filter(({ id }) => !kept.has(id)).map(({ id }) => [id, null] as const),
    ...after
      .filter((item) => !isJsonEqual(known.get(item.id) ?? null, item))
      .map((item) => [item.id, item] as const),
  ]);
}

/** Returns a graph from its stored form. */
export function graphAfter<G extends Graph>({ whole, difference }: StoredGraph<G>): G {
  if (!difference) return whole;
  return {
    ...difference,
    steps: listAfter(whole.steps, difference.steps),
    transitions: listAfter(whole.transitions, difference.transitions),
  } as unknown as G;
}

/**
 * Returns a list after its changes. New items come last, sorted by id, because `jsonb` does not
 * keep the order of keys. The ids contain the time (UUID version 7), so this is the order of
 * creation.
 */
function listAfter<Item extends { id: string }>(
  before: readonly Item[],
  difference: Readonly<Record<string, Item | null>>,
): Item[] {
  const after = new Map(before.map((item) => [item.id, item]));
  for (const [id, item] of Object.entries(difference)) {
    if (item) after.set(id, item);
    else after.delete(id);
  }
  return [...after.values()];
}
