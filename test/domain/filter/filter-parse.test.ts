import { describe, expect, it } from 'vitest';
import {
  type Condition,
  fieldOf,
  type Filter,
  operators,
  operatorsOf,
} from '../../../domain/filter/filter.ts';
import { conditionToFlat, flatToCondition, meansTheSame } from '../../../domain/filter/forms.ts';
import { parseCondition } from '../../../domain/filter/parse.ts';
import {
  mailProblems,
  reachableSegments,
  segmentProblems,
  type SegmentReferences,
} from '../../../domain/filter/references.ts';

const filter = (field: string, operator: string, value?: unknown, unit?: string) => ({
  field,
  operator,
  ...(value === undefined ? {} : { value }),
  ...(unit === undefined ? {} : { unit }),
});
const pro = filter('data.plan', 'equals', 'pro') as Filter;
const gmail = filter('email', 'contains', 'gmail') as Filter;
const groups = (...all: unknown[]) => ({ logic: 'AND', groups: all });
const one = (given: unknown) => groups({ filters: [given] });

/** Returns problems as `field code`, without the path to the first filter. */
function faults(input: unknown, field = 'condition'): string[] {
  const { condition, problems } = parseCondition(input, field);
  expect(condition === null).toBe(problems.length > 0);
  return problems.map((problem) => `${problem.field} ${problem.code}`);
}

const uuid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;

describe('a condition is read', () => {
  it('as it was sent', () => {
    const sent = {
      logic: 'OR',
      groups: [{ filters: [pro, gmail] }, { filters: [], conditions: one(gmail) }],
    };
    expect(parseCondition(sent, 'c')).toEqual({
      condition: sent,
      problems: [],
      mentions: [],
      mailMentions: [],
      bareNames: [],
    });
  });

  it('from its flat form', () => {
    const flat = { operator: 'OR', conditions: [pro, gmail] };
    const condition = { logic: 'OR', groups: [{ filters: [pro] }, { filters: [gmail] }] };
    expect(parseCondition(flat, 'filters').condition).toEqual(condition);
  });

  it('without what it does not need', () => {
    const sent = one(filter('event. a ', 'triggered', 'x', 'years'));
    expect(parseCondition(sent, 'c').condition).toEqual(one(filter('event.a', 'triggered')));
    const withUnit = one({ ...pro, unit: 'years' });
    expect(parseCondition(withUnit, 'c').condition).toEqual(one(pro));
    const withNull = groups({ filters: [pro], conditions: null });
    expect(parseCondition(withNull, 'c').condition).toEqual(one(pro));
  });

  it('with the segments it names', () => {
    const sent = groups(
      { filters: [pro, filter(`segment.${uuid(1).toUpperCase()}`, 'memberOfSegment')] },
      { filters: [], conditions: one(filter('segment.x', 'notMemberOfSegment')) },
    );
    const { condition, mentions } = parseCondition(sent, 'condition');
    expect(mentions).toEqual([
      { field: 'condition.groups.0.filters.1.field', segmentId: uuid(1) },
      { field: 'condition.groups.1.conditions.groups.0.filters.0.field', segmentId: 'x' },
    ]);
    expect(condition!.groups[0]!.filters[1]!.field).toBe(`segment.${uuid(1)}`);
  });

  it.each([
    filter('email', 'equals', ''),
    filter('subscribed', 'equals', 'false'),
    filter('createdAt', 'greaterThan', '2026-02-28'),
    filter('updatedAt', 'equals', '2026-02-28T10:00:00.123+02:00'),
    filter('createdAt', 'within', 0, 'minutes'),
    filter('createdAt', 'olderThan', 1.5, 'days'),
    filter('data.a.b', 'equals', null),
    filter('data.a b', 'notEquals', { a: [1] }),
    filter('data.a', 'greaterThan', true),
    filter('data.a', 'contains', 5),
    filter('data.a', 'within', 5, 'hours'),
    filter('data.a', 'exists'),
    filter('event.a.b', 'triggeredOlderThan', 5, 'hours'),
    filter('event.email.opened', 'notTriggeredWithin', 5, 'hours'),
    filter('email.complained', 'notTriggered'),
  ])('with %j', (given) => {
    expect(faults(one(given))).toEqual([]);
  });

  it.each(Object.entries(operatorsOf))(
    'with the operators of %s, and no others',
    (kind, fitting) => {
      const fields = ['email', 'subscribed', 'updatedAt', 'data.x', 'event.x', 'email.sent'];
      const more = [`segment.${uuid(1)}`, `template.${uuid(1)}.sent`];
      const field = [...fields, ...more].find((name) => fieldOf(name)!.kind === kind)!;
      const refused = operators.filter((operator) =>
        faults(one(filter(field, operator, 1, 'days'))).some((fault) =>
          fault.includes('unsupported'),
        ),
      );
      expect(refused).toEqual(operators.filter((operator) => !fitting.includes(operator)));
    },
  );
});

describe('a condition is refused', () => {
  it.each<[unknown, ...string[]]>([
    [null, 'condition invalid_type'],
    [undefined, 'condition invalid_type'],
    ['x', 'condition invalid_type'],
    [[], 'condition invalid_type'],
    [{}, 'condition.logic invalid_type', 'condition.groups invalid_type'],
    [groups(), 'condition.groups too_small'],
    [{ logic: 'and', groups: [{ filters: [pro] }] }, 'condition.logic invalid_enum_value'],
    [{ logic: 'AND', groups: {} }, 'condition.groups invalid_type'],
    [groups(1, {}), 'condition.groups.0 invalid_type', 'condition.groups.1.filters invalid_type'],
    [groups({ filters: [] }), 'condition.groups.0.filters too_small'],
    [groups({ filters: [1] }), 'condition.groups.0.filters.0 invalid_type'],
    [groups({ filters: [], conditions: 5 }), 'condition.groups.0.conditions invalid_type'],
    [{ operator: 'XOR', conditions: [pro] }, 'condition.operator invalid_enum_value'],
    [{ operator: 'OR', conditions: [] }, 'condition.conditions too_small'],
    [{ operator: 'OR' }, 'condition.conditions invalid_type'],
    [
      { operator: 'OR', conditions: [pro, { field: 'email', operator: 'equals', value: 5 }] },
      'condition.conditions.1.value invalid_type',
    ],
    [{ conditions: [pro] }, 'condition.operator invalid_type'],
  ])('%j', (input, ...expected) => {
    expect(faults(input)).toEqual(expected);
  });

  it.each<[object, ...string[]]>([
    [{}, 'field invalid_type', 'operator invalid_type'],
    [filter('', 'equals', 1), 'field unsupported_field'],
    [filter('email.read', 'triggered'), 'field unsupported_field'],
    [filter('data.', 'exists'), 'field unsupported_field'],
    [filter('event.', 'triggered'), 'field unsupported_field'],
    [filter('contact.phone', 'equals', 'a'), 'field unsupported_field'],
    [filter('contact.contact.email', 'equals', 'a'), 'field unsupported_field'],
    [filter('contact.event.a', 'triggered'), 'field unsupported_field'],
    [filter('contact', 'exists'), 'field unsupported_field'],
    [filter(`data.${'x'.repeat(1000)}`, 'exists'), 'field too_big'],
    [{ field: 5, operator: 'exists' }, 'field invalid_type'],
    [filter('email', 'is', 'a'), 'operator invalid_enum_value'],
    [filter('data.', 'is'), 'field unsupported_field', 'operator invalid_enum_value'],
    [filter('email', 'within', 1, 'days'), 'operator unsupported_operator'],
    [filter('event.a', 'exists'), 'operator unsupported_operator'],
    [filter('email', 'equals'), 'value invalid_type'],
    [filter('email', 'equals', null), 'value invalid_type'],
    [filter('subscribed', 'equals', 1), 'value invalid_type'],
    [filter('createdAt', 'equals', 5), 'value invalid_type'],
    [filter('createdAt', 'greaterThan', '2026-02-30'), 'value invalid_date'],
    [filter('createdAt', 'greaterThan', '2026-02-20T10:00:00'), 'value invalid_date'],
    [filter('createdAt', 'greaterThan', 'soon'), 'value invalid_date'],
    [filter('data.a', 'equals'), 'value invalid_type'],
    [filter('data.a', 'contains', null), 'value invalid_type'],
    [filter('data.a', 'lessThan', [1]), 'value invalid_type'],
    [filter('data.a', 'lessThan', JSON.parse('1e400')), 'value invalid_type'],
    [filter('data.a', 'within', '5', 'days'), 'value invalid_type'],
    [filter('data.a', 'within', -1, 'days'), 'value too_small'],
    [filter('data.a', 'within', 1), 'unit invalid_type'],
    [filter('data.a', 'within', 1, 'weeks'), 'unit invalid_enum_value'],
    [filter('data.a', 'within', 1, 'toString'), 'unit invalid_enum_value'],
    [filter('event.a', 'triggeredWithin'), 'value invalid_type', 'unit invalid_type'],
  ])('with %j', (given, ...expected) => {
    const at = (field: string) => `condition.groups.0.filters.1.${field}`;
    expect(faults(groups({ filters: [pro, given] }))).toEqual(expected.map(at));
  });

  it.each([
    ['plan', 'data.plan', 'plan'],
    ['address.city', 'data.address.city', 'address'],
    ['contact.data.plan', 'data.plan', null],
    ['data.plan', 'data.plan', null],
    ['contact.email', 'email', null],
    ['email', 'email', null],
    ['__proto__', 'data.__proto__', '__proto__'],
  ])('not for the name %s, which is stored as %s', (field, stored, key) => {
    const parsed = parseCondition(groups({ filters: [filter(field, 'equals', 'a')] }), 'c');
    expect(parsed.problems).toEqual([]);
    expect(parsed.condition?.groups[0]?.filters[0]?.field).toBe(stored);
    const place = 'c.groups.0.filters.0.field';
    expect(parsed.bareNames).toEqual(key === null ? [] : [{ field: place, key, name: field }]);
  });

  it('with all problems at once, in reading order', () => {
    const sent = {
      logic: 'NOR',
      groups: [{ filters: [{}], conditions: one(filter('data.', 'exists')) }, { filters: [] }],
    };
    expect(faults(sent, '')).toEqual([
      'logic invalid_enum_value',
      'groups.0.filters.0.field invalid_type',
      'groups.0.filters.0.operator invalid_type',
      'groups.0.conditions.groups.0.filters.0.field unsupported_field',
      'groups.1.filters too_small',
    ]);
  });

  it('deeper than 5 conditions', () => {
    const nested = (depth: number): unknown =>
      depth === 1 ? one(pro) : groups({ filters: [], conditions: nested(depth - 1) });
    expect(faults(nested(5))).toEqual([]);
    const at = `condition${'.groups.0.conditions'.repeat(5)}`;
    expect(faults(nested(6))).toEqual([`${at} too_big`]);
    expect(faults(nested(2000))).toEqual([`${at} too_big`]);
  });

  it('with more than 100 filters', () => {
    const many = (count: number) => Array.from({ length: count }, () => pro);
    expect(faults(groups({ filters: many(60) }, { filters: many(40) }))).toEqual([]);
    expect(faults(groups({ filters: many(60) }, { filters: many(41) }))).toEqual([
      'condition too_big',
    ]);
    expect(faults(groups({ filters: many(101) }))).toEqual(['condition.groups.0.filters too_big']);
    expect(faults({ operator: 'OR', conditions: many(100) })).toEqual([]);
    expect(faults({ operator: 'OR', conditions: many(101) })).toEqual([
      'condition.conditions too_big',
    ]);
  });

  it('without listing millions of problems', () => {
    const wide = (depth: number): unknown =>
      groups(
        ...Array.from({ length: 20 }, () => (depth === 0 ? 5 : { conditions: wide(depth - 1) })),
      );
    expect(faults(wide(3)).length).toBeLessThanOrEqual(500);
  });
});

describe('segments', () => {
  const naming = (...ids: number[]): Condition => ({
    logic: 'AND',
    groups: [
      {
        filters: ids.map((id) => ({ field: `segment.${uuid(id)}`, operator: 'memberOfSegment' })),
      },
    ],
  });
  const segments: SegmentReferences = new Map([
    [uuid(1), [uuid(2)]],
    [uuid(2), [uuid(3)]],
    [uuid(3), []],
    [uuid(4), [uuid(5)]],
    [uuid(5), [uuid(4)]],
  ]);
  const problems = (named: number[], self?: number) =>
    segmentProblems(
      parseCondition(naming(...named), 'condition').mentions,
      segments,
      self === undefined ? undefined : uuid(self),
    ).map(({ field, code }) => `${field} ${code}`);

  it('must exist', () => {
    expect(problems([1, 9, 3])).toEqual(['condition.groups.0.filters.1.field not_found']);
  });

  it.each([
    [[1], 1],
    [[1], 2],
    [[4], 5],
  ])('%j may not be named by segment %i, which it refers to', (named, self) => {
    expect(problems(named, self)).toEqual([
      'condition.groups.0.filters.0.field circular_reference',
    ]);
  });

  it.each([
    [[2, 3], 1],
    [[4], 1],
    [[1], undefined],
  ])('%j may be named by segment %s', (named, self) => {
    expect(problems(named, self)).toEqual([]);
  });

  it('are reached through each other', () => {
    expect([...reachableSegments([uuid(1)], segments)]).toEqual([uuid(1), uuid(2), uuid(3)]);
    expect([...reachableSegments([uuid(4)], segments)]).toEqual([uuid(4), uuid(5)]);
  });
});

describe('campaigns and templates in a condition', () => {
  const id = 'abcdef01-0000-4000-8000-000000000001';
  const happened = (field: string) => one(filter(field, 'triggered'));

  it('must exist', () => {
    const given = groups({
      filters: [
        filter(`campaign.${id.toUpperCase()}.opened`, 'triggered'),
        filter('template.spring.sent', 'notTriggered'),
      ],
    });
    const { condition, mailMentions } = parseCondition(given, 'condition');
    expect(condition?.groups[0]?.filters[0]?.field).toBe(`campaign.${id}.opened`);
    expect(mailProblems(mailMentions, new Set([id]))).toMatchObject([
      { field: 'condition.groups.0.filters.1.field', code: 'not_found' },
    ]);
  });

  it.each(['campaign.ID.read', 'template.ID.', 'campaign.ID', 'campaign..sent', 'campaign.'])(
    'cannot be named as %s',
    (text) => {
      const faulty = happened(text.replace('ID', id));
      expect(parseCondition(faulty, '').problems[0]?.code).toBe('unsupported_field');
    },
  );

  it('leave contact data named campaign as it is', () => {
    expect(fieldOf('campaign')).toEqual({ kind: 'data', path: ['campaign'] });
    expect(fieldOf('data.campaign.name')).toEqual({ kind: 'data', path: ['campaign', 'name'] });
  });
});

describe('the two forms', () => {
  const and: Condition = { logic: 'AND', groups: [{ filters: [pro, gmail] }] };
  const or: Condition = { logic: 'OR', groups: [{ filters: [pro] }, { filters: [gmail] }] };

  it.each<[string, Condition, ReturnType<typeof conditionToFlat>]>([
    ['AND of one group', and, { operator: 'AND', conditions: [pro, gmail] }],
    [
      'AND of several groups',
      { logic: 'AND', groups: [{ filters: [pro] }, { filters: [gmail, pro] }] },
      { operator: 'AND', conditions: [pro, gmail, pro] },
    ],
    ['OR of single filters', or, { operator: 'OR', conditions: [pro, gmail] }],
    [
      'OR of one filter',
      { logic: 'OR', groups: [{ filters: [pro] }] },
      { operator: 'OR', conditions: [pro] },
    ],
    [
      'OR of one group',
      { logic: 'OR', groups: [{ filters: [pro, gmail] }] },
      { operator: 'AND', conditions: [pro, gmail] },
    ],
    [
      'OR of a larger group',
      { logic: 'OR', groups: [{ filters: [pro, gmail] }, { filters: [pro] }] },
      null,
    ],
    ['nesting', { logic: 'AND', groups: [{ filters: [pro], conditions: or }] }, null],
  ])('%s', (_, condition, flat) => {
    expect(conditionToFlat(condition)).toEqual(flat);
    if (flat) expect(meansTheSame(flatToCondition(flat), condition)).toBe(true);
  });

  it('mean the same when only brackets differ', () => {
    const nested: Condition = { logic: 'OR', groups: [{ filters: [], conditions: and }] };
    expect(meansTheSame(nested, and)).toBe(true);
    expect(meansTheSame(or, and)).toBe(false);
    const turned: Condition = { logic: 'AND', groups: [{ filters: [gmail, pro] }] };
    expect(meansTheSame(turned, and)).toBe(false);
    const other: Condition = {
      logic: 'AND',
      groups: [{ filters: [pro, { ...gmail, value: 'x' }] }],
    };
    expect(meansTheSame(other, and)).toBe(false);
  });
});
