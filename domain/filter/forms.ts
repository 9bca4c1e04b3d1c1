import type { Condition, Filter, FlatCondition } from './filter.ts';
import { isJsonEqual } from './value.ts';

/** Converts conditions between their two forms, and compares conditions. */

export function flatToCondition({ operator, conditions }: FlatCondition): Condition {
  return operator === 'AND'
    ? { logic: 'AND', groups: [{ filters: conditions }] }
    : { logic: 'OR', groups: conditions.map((filter) => ({ filters: [filter] })) };
}

export function asCondition(given: Condition | FlatCondition): Condition {
  return 'groups' in given ? given : flatToCondition(given);
}

/** Returns the flat form of a condition; null: the condition is nested, so it has no flat form. */
export function conditionToFlat({ logic, groups }: Condition): FlatCondition | null {
  if (groups.some(({ conditions }) => conditions)) return null;
  const conditions = groups.flatMap(({ filters }) => filters);
  if (logic === 'AND') return { operator: 'AND', conditions };
  if (groups.every(({ filters }) => filters.length === 1)) return { operator: 'OR', conditions };
  return groups.length === 1 ? { operator: 'AND', conditions } : null;
}

/**
 * Returns true when two conditions differ only in notation: redundant brackets do not matter, the
 * order of filters does.
 */
export function meansTheSame(one: Condition, other: Condition): boolean {
  return isJsonEqual(simplify(one), simplify(other));
}

type Node = Filter | { all: Node[] } | { any: Node[] };

function simplify({ logic, groups }: Condition): Node {
  const parts = groups.map(({ filters, conditions }) =>
    join('all', [...filters, ...(conditions ? [simplify(conditions)] : [])]),
  );
  return join(logic === 'AND' ? 'all' : 'any', parts);
}

function join(kind: 'all' | 'any', parts: Node[]): Node {
  const nodes = parts.flatMap((part) =>
    kind === 'all' && 'all' in part ? part.all : kind === 'any' && 'any' in part ? part.any : part,
  );
  if (nodes.length === 1) return nodes[0]!;
  return kind === 'all' ? { all: nodes } : { any: nodes };
}
