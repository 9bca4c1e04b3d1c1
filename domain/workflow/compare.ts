import { isJsonEqual } from '../filter/value.ts';
import { findStep, type Graph, type GraphStep, reachableFrom, waysByStep } from './graph.ts';

/** Compares two graphs, as seen by an execution at a step of one of them. */

/**
 * Differences that change how an execution continues. Of several, the first in this order is
 * reported.
 */
export const differences = ['config', 'next_step', 'branches', 'template', 'exit_rules'] as const;

export type Difference = (typeof differences)[number];

/**
 * The step of the other graph that corresponds to a given step, because it has the same id or a
 * mapping names it. null: there is no such step, or its type differs.
 */
export type Counterpart =
  | { reason: 'same_id' | 'mapping'; step: GraphStep }
  | { reason: 'step_gone' | 'type_changed'; step: null };

/**
 * The ids of counterparts in the other graph, by the id of the step in this graph. Steps whose
 * counterpart has the same id need no entry.
 */
export type Mapping = Readonly<Record<string, string>>;

/**
 * Returns the counterpart of a step. An execution at a step without a counterpart of the same type
 * cannot move to the other graph.
 */
export function counterpartOf(step: GraphStep, other: Graph, mapping: Mapping): Counterpart {
  const found = findStep(other, mappedId(step, mapping));
  if (!found) return { reason: 'step_gone', step: null };
  if (found.type !== step.type) return { reason: 'type_changed', step: null };
  return { reason: Object.hasOwn(mapping, step.id) ? 'mapping' : 'same_id', step: found };
}

/**
 * Returns the first difference between the steps reachable from a step and those reachable from its
 * counterpart, both steps included; null: there is none. Names do not matter. Exit rules are
 * compared for the whole graphs.
 */
export function differenceFrom(
  [graph, other]: readonly [Graph, Graph],
  [step, target]: readonly [GraphStep, GraphStep],
  mapping: Mapping,
): Difference | null {
  const [rules, otherRules] = [graph.exitRules ?? [], other.exitRules ?? []];
  const met = new Set<Difference>(isJsonEqual(rules, otherRules) ? [] : ['exit_rules']);
  const [here, there] = [indexed(graph), indexed(other)];
  const counterpart = (one: GraphStep | undefined) => {
    const two = one && there.steps.get(mappedId(one, mapping));
    return one && two?.type === one.type ? two : undefined;
  };
  const reachable = reachableFrom(other, target.id);
  for (const id of reachableFrom(graph, step.id)) {
    const one = here.steps.get(id);
    const two = counterpart(one);
    // The transition that leads to a step without reachable counterpart is itself a difference,
    // which was found already.
    if (!one || !two || !reachable.has(two.id)) continue;
    if (!isJsonEqual(ownConfig(one), ownConfig(two))) met.add('config');
    if (one.templateId !== two.templateId) met.add('template');
    const [to, toOther] = [targets(here, id), targets(there, two.id)];
    for (const branch of new Set([...to.keys(), ...toOther.keys()])) {
      const next = counterpart(here.steps.get(to.get(branch) ?? ''));
      if (!next || next.id !== toOther.get(branch)) {
        met.add(branch === null ? 'next_step' : 'branches');
      }
    }
  }
  return differences.find((difference) => met.has(difference)) ?? null;
}

/** Indexes a graph, because each step of a large graph is looked up many times. */
function indexed(graph: Graph) {
  return { steps: new Map(graph.steps.map((step) => [step.id, step])), ways: waysByStep(graph) };
}

/** Returns the steps that follow a step, by branch. */
function targets({ ways }: ReturnType<typeof indexed>, stepId: string): Map<string | null, string> {
  return new Map((ways.get(stepId) ?? []).map(({ branch, toStepId }) => [branch, toStepId]));
}

function mappedId({ id }: GraphStep, mapping: Mapping): string {
  return (Object.hasOwn(mapping, id) ? mapping[id] : undefined) ?? id;
}

/** Returns the config without its copy of the template's id, which the step itself has. */
export function ownConfig({ config }: Pick<GraphStep, 'config'>): Record<string, unknown> {
  const { templateId: _, ...own } = config;
  return own;
}
