import { describe, expect, it } from 'vitest';
import { decideBranch } from '../../../domain/filter/branches.ts';
import type { Condition, Filter } from '../../../domain/filter/filter.ts';
import { type ContactHistory, noHistory } from '../../../domain/filter/history.ts';
import { parseStepFilter } from '../../../domain/filter/parse.ts';

const now = new Date('2026-11-26T12:00:00Z');
const hourAgo = new Date('2026-11-26T11:00:00Z');
const segmentId = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01';
const otherId = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c02';

const contact = {
  email: 'ada@shop.test',
  subscribed: true,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  updatedAt: hourAgo,
  data: { plan: 'pro', context: { total: 1 }, seats: 5 },
};
const context = { total: 7, plan: 'pro', at: hourAgo.toISOString(), nothing: null };

/** Returns true if one stored filter is met. */
function isMet(filter: object, history: Partial<ContactHistory> = {}): boolean {
  const { condition, problems } = parseStepFilter({ operator: 'AND', conditions: [filter] }, '');
  expect(problems).toEqual([]);
  const branches = [{ id: 'a', filter: condition! }];
  return decideBranch(branches, { contact, context }, { ...noHistory, ...history }, now).result;
}

const compare = (field: string, operator: string, more: object = {}) => ({
  field,
  operator,
  ...more,
});

/** Returns the problems of one filter, as `place code`. */
const problemsOf = (filter: object) =>
  parseStepFilter({ operator: 'AND', conditions: [filter] }, 'f').problems.map(
    ({ field, code }) => `${field.replace('f.conditions.0.', '')} ${code}`,
  );

describe('the filters of a CONDITION', () => {
  it.each([
    [compare('event.total', 'greaterThan', { value: 5 }), true],
    [compare('workflow.total', 'equals', { value: 7 }), true],
    [compare('context.total', 'equals', { value: 1 }), false],
    [compare('data.context.total', 'equals', { value: 1 }), true],
    [compare('event.at', 'within', { value: 2, unit: 'hours' }), true],
    [compare('context.at', 'olderThan', { value: 2, unit: 'hours' }), false],
    [compare('contact.data.plan', 'equals', { value: 'pro' }), true],
    [compare('plan', 'equals', { value: 'pro' }), true],
    [compare('contact.createdAt', 'olderThan', { value: 2, unit: 'days' }), true],
    [compare('email', 'equals', { value: 'ADA@shop.test' }), true],
  ])('read contact and context: %j is %s', (filter, expected) => {
    expect(isMet(filter)).toBe(expected);
  });

  it.each([
    [compare('data.plan', 'equals', { valueOf: 'context.plan' }), true],
    [compare('event.total', 'greaterThan', { valueOf: 'contact.data.seats' }), true],
    [compare('data.plan', 'notEquals', { valueOf: 'event.missing' }), false],
    [compare('event.nothing', 'equals', { valueOf: 'event.nothing' }), false],
    [compare('data.plan', 'exists', { valueOf: 'event.missing' }), true],
  ])('compare with other fields: %j is %s', (filter, expected) => {
    expect(isMet(filter)).toBe(expected);
  });

  it('read the history of an event by the operators of history alone', () => {
    const events = new Map([['total', hourAgo]]);
    const within = (value: number) =>
      compare('event.total', 'triggeredWithin', { value, unit: 'minutes' });
    expect(isMet(within(61), { events })).toBe(true);
    expect(isMet(within(59), { events })).toBe(false);
    expect(isMet(compare('event.total', 'triggered'))).toBe(false);
    expect(isMet(compare('event.total', 'exists'))).toBe(true);
    const activities = new Map([['opened' as const, hourAgo]]);
    expect(isMet(compare('email.opened', 'triggered'), { activities })).toBe(true);
  });

  it('know the members of segments, of segments in segments, and none of deleted ones', () => {
    const member = (id: string) => compare(`segment.${id}`, 'memberOfSegment');
    expect(isMet(member(segmentId))).toBe(false);
    expect(isMet(compare(`segment.${segmentId}`, 'notMemberOfSegment'))).toBe(true);
    const segments = new Map([[segmentId, null]]);
    expect(isMet(member(segmentId), { segments })).toBe(false);
    const memberships = new Set([segmentId]);
    expect(isMet(member(segmentId), { segments, memberships })).toBe(true);
    const inside: Condition = {
      logic: 'AND',
      groups: [{ filters: [member(segmentId) as Filter] }],
    };
    const nested = new Map([
      [segmentId, null],
      [otherId, inside],
    ] as const);
    expect(isMet(member(otherId), { segments: nested, memberships })).toBe(true);
    expect(isMet(member(otherId), { segments: nested })).toBe(false);
  });

  it('take the first branch that holds, and say which were looked at', () => {
    const branch = (id: string, total: number) => ({
      id,
      filter: {
        operator: 'OR' as const,
        conditions: [compare('event.total', 'equals', { value: total }) as Filter],
      },
    });
    const decide = (...totals: number[]) =>
      decideBranch(
        totals.map((total, index) => branch(`b${index}`, total)),
        { contact, context },
        noHistory,
        now,
      );
    expect(decide(1, 7, 7)).toEqual({
      mode: 'filter',
      branch: 'b1',
      result: true,
      checked: [
        { id: 'b0', result: false },
        { id: 'b1', result: true },
      ],
    });
    expect(decide(1)).toMatchObject({ branch: 'default', result: false });
  });

  it.each([
    [compare('context', 'exists'), 'field unsupported_field'],
    [compare('contact.phone', 'exists'), 'field unsupported_field'],
    [compare('context.x', 'triggered'), 'operator unsupported_operator'],
    [compare('event.x', 'is', { value: 1 }), 'operator invalid_enum_value'],
    [compare('email', 'exists'), 'operator unsupported_operator'],
    [compare('event.x', 'equals'), 'value invalid_type'],
    [compare('event.x', 'equals', { value: 1, valueOf: 'event.y' }), 'valueOf not_allowed'],
    [compare('event.x', 'equals', { valueOf: 'data.y' }), 'valueOf unsupported_field'],
    [compare('event.x', 'equals', { valueOf: 'workflow.y' }), 'valueOf unsupported_field'],
    [compare('event.x', 'equals', { valueOf: 1 }), 'valueOf invalid_type'],
    [compare('event.x', 'triggered', { valueOf: 'event.y' }), 'valueOf not_allowed'],
    [
      compare('event.x', 'within', { value: 1, unit: 'days', valueOf: 'event.y' }),
      'valueOf not_allowed',
    ],
    [compare('event.x', 'equals', { value: 1, valueOff: 'event.y' }), 'valueOff unknown_field'],
  ])('refuse %j with %s', (filter, problem) => {
    expect(problemsOf(filter)).toEqual([problem]);
  });
});
