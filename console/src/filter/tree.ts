import type { Condition } from '../../../client/everpost.ts';

/**
 * A condition as the filter builder shows it: parts that are joined by `logic`, each of them a
 * filter or a group of further parts. The API always joins the filters of a group by AND.
 */
export interface Group {
  logic: 'AND' | 'OR';
  parts: readonly Part[];
}

/**
 * One line of the builder. The line is incomplete while its field is '' or a needed value is
 * absent.
 */
export type Filter = NonNullable<Condition['groups'][number]['filters']>[number];

/**
 * Returns the field that a filter compares with instead of a value; undefined: the filter compares
 * with a value. Every object inherits a method `valueOf` from JavaScript, which does not count.
 */
export function operandOf(filter: Filter): string | undefined {
  const given: unknown = Object.hasOwn(filter, 'valueOf') ? filter.valueOf : undefined;
  return typeof given === 'string' ? given : undefined;
}

export type Part =
  | { kind: 'filter'; filter: Filter; at?: string }
  | { kind: 'group'; group: Group };

type ApiGroup = Condition['groups'][number];

/** The indexes of the parts from the first group down to one part. */
export type Place = readonly number[];

export type Change =
  | { kind: 'addFilter'; place: Place }
  | { kind: 'addGroup'; place: Place }
  | { kind: 'setLogic'; place: Place; logic: Group['logic'] }
  | { kind: 'setFilter'; place: Place; filter: Filter }
  | { kind: 'remove'; place: Place };

export const noCondition: Condition = { logic: 'AND', groups: [] };

/** Maximum depth of nested conditions. */
const maxDepth = 5;

const emptyFilter: Filter = { field: '', operator: 'equals' };

/** Returns a condition as the builder shows it. `at` of a filter is its path in the condition. */
export function treeOf({ logic, groups }: Condition, path = ''): Group {
  const parts = groups.flatMap((group, index) => {
    const own = partsOf(group, `${path}groups.${index}.`);
    const isOneLine = logic === 'AND' || own.length === 1;
    return isOneLine ? own : [{ kind: 'group', group: { logic: 'AND', parts: own } } as const];
  });
  return { logic, parts };
}

function partsOf({ filters = [], conditions }: ApiGroup, path: string): Part[] {
  const parts: Part[] = filters.map((filter, index) => ({
    kind: 'filter',
    filter,
    at: `${path}filters.${index}`,
  }));
  const nested = conditions as Condition | null | undefined;
  if (nested) parts.push({ kind: 'group', group: treeOf(nested, `${path}conditions.`) });
  return parts;
}

/** Returns the condition for the API. `treeOf` makes the same tree from this condition. */
export function conditionOf({ logic, parts }: Group): Condition {
  if (logic === 'AND') return { logic, groups: groupsOfAll(parts) };
  return { logic, groups: parts.map(groupOf) };
}

/** Filters in a row share a group. A nested condition ends the group. */
function groupsOfAll(parts: readonly Part[]): ApiGroup[] {
  const groups: ApiGroup[] = [];
  let filters: Filter[] = [];
  for (const part of parts) {
    if (part.kind === 'filter') filters.push(part.filter);
    else {
      groups.push({ filters, conditions: conditionOf(part.group) });
      filters = [];
    }
  }
  return filters.length === 0 ? groups : [...groups, { filters }];
}

function groupOf(part: Part): ApiGroup {
  if (part.kind === 'filter') return { filters: [part.filter] };
  const { logic, parts } = part.group;
  // The API limits how deeply conditions are nested. If an AND group fits into one group of the
  // API, return that group, because a nested condition would cost one more level.
  const [only, ...more] = logic === 'AND' && parts.length > 1 ? groupsOfAll(parts) : [];
  return only && more.length === 0 ? only : { filters: [], conditions: conditionOf(part.group) };
}

function depthOf({ groups }: Condition): number {
  const nested = groups.flatMap(({ conditions }) => (conditions ? [conditions as Condition] : []));
  return 1 + Math.max(0, ...nested.map(depthOf));
}

/** Returns true if a condition is within the depth that the API accepts. */
export const isWithinDepth = (group: Group): boolean => depthOf(conditionOf(group)) <= maxDepth;

/** Returns the tree after a change by the user. */
export function changed(group: Group, change: Change): Group {
  const [index, ...rest] = change.place;
  if (index === undefined) return changedHere(group, change);
  const isLast = rest.length === 0;
  const parts = group.parts.flatMap((part, at): Part[] => {
    if (at !== index) return [part];
    if (isLast && change.kind === 'remove') return [];
    if (part.kind === 'filter') {
      return change.kind === 'setFilter' ? [{ kind: 'filter', filter: change.filter }] : [part];
    }
    const next = changed(part.group, { ...change, place: rest });
    return next.parts.length === 0 ? [] : [{ kind: 'group', group: next }];
  });
  return { ...group, parts };
}

function changedHere(group: Group, change: Change): Group {
  const { logic, parts } = group;
  const first: Part = { kind: 'filter', filter: emptyFilter };
  if (change.kind === 'addFilter') return { logic, parts: [...parts, first] };
  if (change.kind === 'setLogic') return { logic: change.logic, parts };
  if (change.kind !== 'addGroup') return group;
  // A nested group with the same logic as the outer group would have no effect, so the logics
  // differ.
  const inner = { logic: logic === 'AND' ? 'OR' : 'AND', parts: [first] } as const;
  return { logic, parts: [...parts, { kind: 'group', group: inner }] };
}

/** Returns the condition without incomplete lines; null: no line is complete. */
export function completePart(
  condition: Condition,
  isComplete: (filter: Filter) => boolean,
): Condition | null {
  const left = withoutOpen(treeOf(condition), isComplete);
  return left.parts.length === 0 ? null : conditionOf(left);
}

function withoutOpen(group: Group, isComplete: (filter: Filter) => boolean): Group {
  const parts = group.parts.flatMap((part): Part[] => {
    if (part.kind === 'filter') return isComplete(part.filter) ? [part] : [];
    const inner = withoutOpen(part.group, isComplete);
    return inner.parts.length === 0 ? [] : [{ kind: 'group', group: inner }];
  });
  return { ...group, parts };
}
