import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Condition, type Filter, mailFieldName } from '../../../domain/filter/filter.ts';
import { type Subject, evaluateCondition } from '../../../domain/filter/evaluate.ts';
import { evaluateStepCondition, type StepCondition } from '../../../domain/filter/step.ts';
import { compareCodePoints, instantOfText, isJsonEqual } from '../../../domain/filter/value.ts';
import { hasForbiddenText } from '../../../domain/text-rules.ts';
import {
  filterTable,
  nameOf,
  now,
  plainContact,
  segmentIds,
  type TableContact,
} from './filter-table.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';

function subjectOf(given: TableContact): Subject {
  const contact = { ...plainContact, ...given };
  const last = (all: readonly [string, string][], name: string) =>
    all
      .filter(([one]) => one === name)
      .map(([, at]) => new Date(at))
      .toSorted((a, b) => a.getTime() - b.getTime())
      .at(-1) ?? null;
  return {
    ...contact,
    createdAt: new Date(contact.createdAt),
    updatedAt: new Date(contact.updatedAt),
    lastEvent: (name) => last(contact.events, name),
    lastActivity: (name) => last(contact.activities, name),
    lastMail: (field) => last(contact.mail, mailFieldName(field)),
    isMember: (id) =>
      id === segmentIds.pro ? contact.data?.['plan'] === 'pro' : contact.segments.includes(id),
  };
}

const meets = (contact: TableContact, condition: Condition) =>
  evaluateCondition(condition, subjectOf(contact), now);

describe('a contact', () => {
  it.each(filterTable.map((row) => [nameOf(row), row] as const))('%s', (_, row) => {
    const condition: Condition = { logic: 'AND', groups: [{ filters: [row.filter] }] };
    expect(meets(row.contact, condition)).toBe(row.matches);
  });
});

describe('a condition', () => {
  const yes: Filter = { field: 'email', operator: 'contains', value: '@' };
  const no: Filter = { field: 'email', operator: 'notContains', value: '@' };

  it.each<[boolean, Condition]>([
    [true, { logic: 'OR', groups: [{ filters: [no] }, { filters: [yes] }] }],
    [false, { logic: 'AND', groups: [{ filters: [no] }, { filters: [yes] }] }],
    [false, { logic: 'OR', groups: [{ filters: [no, yes] }] }],
    [true, { logic: 'AND', groups: [{ filters: [yes, yes] }, { filters: [yes] }] }],
    [
      false,
      {
        logic: 'OR',
        groups: [
          { filters: [yes], conditions: { logic: 'AND', groups: [{ filters: [no] }] } },
          { filters: [], conditions: { logic: 'AND', groups: [{ filters: [no] }] } },
        ],
      },
    ],
    [
      true,
      {
        logic: 'AND',
        groups: [{ filters: [], conditions: { logic: 'OR', groups: [{ filters: [yes] }] } }],
      },
    ],
  ])('is %s: %j', (expected, condition) => {
    expect(meets({}, condition)).toBe(expected);
  });
});

describe('a date text', () => {
  it.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-20T23:30Z', '2026-11-20T23:30:00.000Z'],
    ['2026-11-20T23:30:15', '2026-11-20T23:30:15.000Z'],
    ['2026-11-20T23:30:15.9999Z', '2026-11-20T23:30:15.999Z'],
    ['2026-11-20T00:30:15.5+01:45', '2026-11-19T22:45:15.500Z'],
    ['2026-11-20T23:30:15-23:59', '2026-11-21T23:29:15.000Z'],
    ['2026-11-20T23:30:15,25+0100', '2026-11-20T22:30:15.250Z'],
    ['2026-11-20T23:30-01', '2026-11-21T00:30:00.000Z'],
    ['20261120T233015+01', '2026-11-20T22:30:15.000Z'],
    ['20261120T2330', '2026-11-20T23:30:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31', '0099-12-31T00:00:00.000Z'],
  ])('%s is %s', (text, iso) => {
    expect(new Date(instantOfText(text)!).toISOString()).toBe(iso);
  });

  const notDates = [
    ['2026-02-30', '2023-02-29', '1900-02-29', '2026-13-01', '2026-00-01', '2026-1-1'],
    ['0000-01-01', '10000-01-01', '0001-01-01T00:00+00:01', '9999-12-31T23:59-00:01'],
    ['2026-11-20T24:00Z', '2026-11-20T10:60Z', '2026-11-20T10:00:60Z', '2026-11-20T10Z'],
    ['2026-11-20T10:00+1', '2026-11-20T10:00+24:00', '2026-11-20t10:00z', '2026-11-20 10:00'],
    ['2026-11-20\n', ' 2026-11-20', '20261120', 'now', 'infinity', ''],
  ].flat();

  it.each(notDates)('is not %j', (text) => {
    expect(instantOfText(text)).toBe(null);
  });
});

it('texts are ordered by code points', () => {
  const text = fc.string({ unit: 'binary' }).filter((all) => !hasForbiddenText(all));
  const property = fc.property(text, text, (one, other) => {
    const bytes = Buffer.compare(Buffer.from(one), Buffer.from(other));
    expect(Math.sign(compareCodePoints(one, other))).toBe(bytes);
  });
  fc.assert(property);
});

it('JSON is equal when it is the same but for the order of keys, however deep', () => {
  const nested = (depth: number, inside: string) =>
    JSON.parse(`${'[{"a":'.repeat(depth)}${inside}${'}]'.repeat(depth)}`) as unknown;
  expect(isJsonEqual(nested(50_000, '1'), nested(50_000, '1'))).toBe(true);
  expect(isJsonEqual(nested(50_000, '1'), nested(50_000, '2'))).toBe(false);
  expect(isJsonEqual(JSON.parse('{"__proto__":1}'), {})).toBe(false);
  expect(isJsonEqual(JSON.parse('{"__proto__":{}}'), { a: {} })).toBe(false);
  expect(isJsonEqual([], {})).toBe(false);
  expect(isJsonEqual(['a'], { 0: 'a' })).toBe(false);
});

describe('a CONDITION step', () => {
  const contact = subjectOf({ data: { plan: 'pro', n: '5', address: { city: 'Ulm' } } });
  const context = JSON.parse('{"total":12,"plan":"free","__proto__":"p"}') as Record<
    string,
    unknown
  >;
  const decide = (config: StepCondition) => {
    expect(stepModules.CONDITION.config.safeParse(config).error?.issues).toBeUndefined();
    return evaluateStepCondition(config, { contact, context });
  };

  it.each<[StepCondition, actual: unknown, result: boolean]>([
    [{ field: 'data.plan', operator: 'equals', value: 'pro' }, 'pro', true],
    [{ field: 'contact.data.plan', operator: 'equals', value: 'Pro' }, 'pro', false],
    [{ field: 'contact.data.address.city', operator: 'exists' }, 'Ulm', true],
    [{ field: 'data.n', operator: 'equals', value: 5 }, '5', false],
    [{ field: 'data.n', operator: 'greaterThan', value: 4 }, '5', true],
    [{ field: 'data.none', operator: 'notEquals', value: 1 }, null, false],
    [{ field: 'data.none', operator: 'equals', value: null }, null, true],
    [{ field: 'data.none', operator: 'notExists' }, null, true],
    [
      { field: 'contact.email', operator: 'equals', value: 'ANN@shop.example' },
      contact.email,
      true,
    ],
    [{ field: 'contact.subscribed', operator: 'equals', value: 'true' }, true, true],
    [
      { field: 'contact.createdAt', operator: 'lessThan', value: '2026-11-02' },
      '2026-11-01T12:00:00.000Z',
      true,
    ],
    [{ field: 'event.total', operator: 'greaterThanOrEqual', value: '12' }, 12, true],
    [{ field: 'workflow.plan', operator: 'equals', value: 'free' }, 'free', true],
    [{ field: 'event.__proto__', operator: 'equals', value: 'p' }, 'p', true],
    [{ field: 'event.constructor', operator: 'exists' }, null, false],
    [{ mode: 'binary', field: 'data.__proto__', operator: 'notExists' }, null, true],
  ])('%j sees %j and says %s', (config, actualValue, result) => {
    const {
      field,
      operator,
      value = null,
    } = config as { operator: string; value?: unknown } & {
      field: string;
    };
    const branch = result ? 'yes' : 'no';
    const expected = { field, operator, expectedValue: value, actualValue, result, branch };
    expect(decide(config)).toEqual(expected);
  });

  const branches = [
    { id: 'a', name: 'A', operator: 'equals' as const, value: 'x' },
    { id: 'b', name: 'B', operator: 'contains' as const, value: 'r' },
    { id: 'c', name: 'C', operator: 'exists' as const },
  ];
  const multi = (field: string): StepCondition => ({ mode: 'multi', field, branches });

  it('takes the first branch that matches', () => {
    expect(decide(multi('data.plan'))).toEqual({
      field: 'data.plan',
      operator: 'contains',
      expectedValue: 'r',
      actualValue: 'pro',
      result: true,
      branch: 'b',
    });
  });

  it('takes the branch default when none matches', () => {
    expect(decide(multi('data.none'))).toEqual({
      field: 'data.none',
      operator: null,
      expectedValue: null,
      actualValue: null,
      result: false,
      branch: 'default',
    });
  });

  it('finds nothing in an execution without context', () => {
    const config: StepCondition = { field: 'event.total', operator: 'notExists' };
    expect(evaluateStepCondition(config, { contact, context: null }).result).toBe(true);
  });
});
