import { describe, expect, it } from 'vitest';
import {
  type Change,
  changed,
  completePart,
  conditionOf,
  type Filter,
  type Group,
  isWithinDepth,
  noCondition,
  type Part,
  type Place,
  treeOf,
} from '../../console/src/filter/tree.ts';
import {
  isComplete,
  operatorsOf,
  withField,
  withOperator,
} from '../../console/src/filter/operators.ts';
import { operatorsOf as operatorsOfApi } from '../../domain/filter/filter.ts';

/** The filter builder: what the user changes, and the condition that is sent. */

const plan: Filter = { field: 'data.plan', operator: 'equals', value: 'pro' };
const seats: Filter = { field: 'data.seats', operator: 'greaterThan', value: 4 };

const withoutPaths = ({ logic, parts }: Group): unknown => ({
  logic,
  parts: parts.map((part) => (part.kind === 'filter' ? part.filter : withoutPaths(part.group))),
});

/** All places of a tree: of its groups, and of its filters. */
function placesOf(group: Group, place: Place = []): { groups: Place[]; parts: Place[] } {
  const inner = group.parts.map((part: Part, index) =>
    part.kind === 'group'
      ? placesOf(part.group, [...place, index])
      : { groups: [], parts: [[...place, index]] },
  );
  return {
    groups: [place, ...inner.flatMap(({ groups }) => groups)],
    parts: [
      ...group.parts.map((_, index) => [...place, index]),
      ...inner.flatMap(({ parts }) => parts),
    ],
  };
}

describe('the filter builder', () => {
  it('joins two conditions in one group of the API', () => {
    let tree = treeOf(noCondition);
    tree = changed(tree, { kind: 'addFilter', place: [] });
    tree = changed(tree, { kind: 'setFilter', place: [0], filter: plan });
    tree = changed(tree, { kind: 'addFilter', place: [] });
    tree = changed(tree, { kind: 'setFilter', place: [1], filter: seats });
    expect(conditionOf(tree)).toEqual({ logic: 'AND', groups: [{ filters: [plan, seats] }] });
    tree = changed(tree, { kind: 'setLogic', place: [], logic: 'OR' });
    expect(conditionOf(tree)).toEqual({
      logic: 'OR',
      groups: [{ filters: [plan] }, { filters: [seats] }],
    });
  });

  it('shows a group with two filters among others as a group of its own', () => {
    const condition = {
      logic: 'OR',
      groups: [{ filters: [plan, seats] }, { filters: [seats] }],
    } as const;
    const tree = treeOf(condition as never);
    expect(withoutPaths(tree)).toEqual({
      logic: 'OR',
      parts: [{ logic: 'AND', parts: [plan, seats] }, seats],
    });
    expect(conditionOf(tree)).toEqual(condition);
  });

  it('keeps what the user sees through any row of changes', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    let tree = treeOf(noCondition);
    for (let step = 0; step < 400; step++) {
      const { groups, parts } = placesOf(tree);
      const group = groups[random(groups.length)]!;
      const part = parts[random(Math.max(1, parts.length))] ?? [];
      const changes: Change[] = [
        { kind: 'addFilter', place: group },
        { kind: 'addGroup', place: group },
        { kind: 'setLogic', place: group, logic: random(2) === 0 ? 'AND' : 'OR' },
        { kind: 'setFilter', place: part, filter: { ...plan, value: step } },
        { kind: 'remove', place: part },
      ];
      const next = changed(tree, changes[random(changes.length)]!);
      if (isWithinDepth(next)) tree = next;
      expect(withoutPaths(treeOf(conditionOf(tree)))).toEqual(withoutPaths(tree));
    }
  });

  it('removes a group with its last condition', () => {
    let tree = changed(treeOf(noCondition), { kind: 'addGroup', place: [] });
    tree = changed(tree, { kind: 'remove', place: [0, 0] });
    expect(conditionOf(tree)).toEqual({ logic: 'AND', groups: [] });
  });

  it('knows the path of each filter in the condition, for the errors of the API', () => {
    const tree = treeOf({
      logic: 'AND',
      groups: [
        { filters: [plan], conditions: { logic: 'OR', groups: [{ filters: [seats] }] } },
        { filters: [seats] },
      ],
    });
    const paths = (group: Group): unknown[] =>
      group.parts.map((part) => (part.kind === 'filter' ? part.at : paths(part.group)));
    expect(paths(tree)).toEqual([
      'groups.0.filters.0',
      ['groups.0.conditions.groups.0.filters.0'],
      'groups.1.filters.0',
    ]);
  });

  it('counts by the conditions that are filled in', () => {
    const open: Filter = { field: 'data.city', operator: 'equals' };
    const condition = { logic: 'AND', groups: [{ filters: [plan, open] }] } as const;
    expect(completePart(condition as never, isComplete)).toEqual({
      logic: 'AND',
      groups: [{ filters: [plan] }],
    });
    const nothing = { logic: 'AND', groups: [{ filters: [open] }] } as const;
    expect(completePart(nothing as never, isComplete)).toBeNull();
  });

  it.each([
    ['email', 'email'],
    ['subscribed', 'subscribed'],
    ['createdAt', 'time'],
    ['data.plan', 'data'],
    ['event.paid', 'event'],
    ['email.opened', 'activity'],
    ['campaign.1.opened', 'mail'],
    ['segment.1', 'segment'],
  ] as const)('offers for %s the operators that the API allows', (field, kind) => {
    expect(operatorsOf(field).toSorted()).toEqual([...operatorsOfApi[kind]].toSorted());
  });

  it('offers in a journey what the data of an event and its history have', () => {
    const journey = {
      eventData: new Set(['event.total', 'event.paid']),
      eventNames: new Set(['event.paid', 'event.bought']),
    };
    const offered = (field: string) => operatorsOf(field, journey).toSorted();
    expect(offered('event.total')).toEqual([...operatorsOfApi.data].toSorted());
    expect(offered('event.bought')).toEqual([...operatorsOfApi.event].toSorted());
    const both = [...operatorsOfApi.data, ...operatorsOfApi.event].toSorted();
    expect([offered('event.paid'), offered('event.unknown')]).toEqual([both, both]);
  });

  it('keeps no value that does not fit a new field or operator', () => {
    expect(withField(plan, 'subscribed')).toEqual({
      field: 'subscribed',
      operator: 'equals',
      value: true,
    });
    expect(withField(plan, 'event.paid')).toEqual({ field: 'event.paid', operator: 'triggered' });
    const window = withOperator(
      { field: 'createdAt', operator: 'equals', value: '2026-01-02' },
      'within',
    );
    expect(window).toEqual({ field: 'createdAt', operator: 'within', value: 7, unit: 'days' });
    expect(withOperator(window, 'lessThan')).toEqual({ field: 'createdAt', operator: 'lessThan' });
  });
});
