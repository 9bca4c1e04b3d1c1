import { describe, expect, it } from 'vitest';
import { fieldOf, isValueOperator } from '../../../domain/filter/filter.ts';
import { evaluateStepCondition, type StepCondition } from '../../../domain/filter/step.ts';
import { filterTable, nameOf, plainContact, type TableContact } from './filter-table.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';

/** The rows of the table whose operators CONDITION steps have, too. */
const rows = filterTable.flatMap((row) => {
  const { operator } = row.filter;
  return isValueOperator(operator) ? [{ ...row, operator }] : [];
});
const dataRows = rows.filter(({ filter }) => fieldOf(filter.field)?.kind === 'data');

type Row = (typeof rows)[number];
type Data = Record<string, unknown> | null;

const named = (some: Row[]) => some.map((row) => [nameOf(row), row] as const);

/**
 * Returns the decisions of a step about its own field: as one condition and as one of several
 * branches.
 */
function decisions(
  field: string,
  { operator, filter, matches }: Row,
  scope: { contact?: TableContact; context?: Data },
) {
  const contact = { ...plainContact, ...scope.contact };
  const given = {
    contact: {
      ...contact,
      createdAt: new Date(contact.createdAt),
      updatedAt: new Date(contact.updatedAt),
    },
    context: scope.context ?? null,
  };
  const comparison = { operator, ...('value' in filter ? { value: filter.value } : {}) };
  const configs = [
    { field, ...comparison },
    { mode: 'multi' as const, field, branches: [{ id: 'hit', name: 'Hit', ...comparison }] },
  ];
  const decided = configs.map((config) => {
    // The config must be valid, or the row would prove nothing.
    expect(stepModules.CONDITION.config.safeParse(config).error?.issues).toBeUndefined();
    const { result, branch } = evaluateStepCondition(config, given);
    return [result, branch];
  });
  const expected = matches
    ? [
        [true, 'yes'],
        [true, 'hit'],
      ]
    : [
        [false, 'no'],
        [false, 'default'],
      ];
  return { decided, expected };
}

describe('a CONDITION step about the contact', () => {
  it('has the rows of every kind of value, and every operator', () => {
    const kinds = new Set(rows.map(({ filter }) => fieldOf(filter.field)?.kind));
    expect([...kinds].toSorted()).toEqual(['data', 'email', 'subscribed', 'time']);
    expect(new Set(rows.map(({ operator }) => operator)).size).toBe(10);
  });

  it.each(named(rows))('%s', (_, row) => {
    const { decided, expected } = decisions(`contact.${row.filter.field}`, row, {
      contact: row.contact,
    });
    expect(decided).toEqual(expected);
  });

  it.each(named(dataRows))('without its root: %s', (_, row) => {
    const { decided, expected } = decisions(row.filter.field, row, { contact: row.contact });
    expect(decided).toEqual(expected);
  });
});

describe.each(['event', 'workflow', 'context'])(
  'a CONDITION step about the context (%s.)',
  (root) => {
    it.each(named(dataRows))('%s', (_, row) => {
      // The contact's field of the same name must not be used.
      const contact = { data: { x: 'of the contact' } };
      const field = row.filter.field.replace('data', root);
      const { decided, expected } = decisions(field, row, {
        contact,
        context: row.contact.data ?? null,
      });
      expect(decided).toEqual(expected);
    });
  },
);

describe('a CONDITION step that compares with another field', () => {
  const contact = plainContact;
  const scope = (data: Data, context: Data) => ({
    contact: {
      ...contact,
      createdAt: new Date(contact.createdAt),
      updatedAt: new Date(contact.updatedAt),
      data,
    },
    context,
  });
  const decide = (comparison: object, data: Data, context: Data) => {
    const config = { field: 'context.seen', ...comparison } as StepCondition;
    return evaluateStepCondition(config, scope(data, context));
  };

  it.each([
    ['context.wanted', { seen: 7, wanted: 7 }, null, true],
    ['event.wanted', { seen: 7, wanted: 8 }, null, false],
    ['event.inner.wanted', { seen: 'a', inner: { wanted: 'a' } }, null, true],
    ['contact.data.wanted', { seen: [1] }, { wanted: [1] }, true],
    ['contact.email', { seen: contact.email }, null, true],
    ['contact.createdAt', { seen: contact.createdAt }, null, true],
    // Types are never coerced.
    ['context.wanted', { seen: '1', wanted: 1 }, null, false],
    ['contact.data.wanted', { seen: true }, { wanted: 'true' }, false],
  ])('reads %s of %j and %j: %s', (valueOf, context, data, result) => {
    const { result: actual } = decide({ operator: 'equals', valueOf }, data, context);
    expect(actual).toBe(result);
  });

  it.each(['equals', 'notEquals', 'contains', 'notContains', 'lessThan', 'greaterThanOrEqual'])(
    'is false where that is missing or null: %s',
    (operator) => {
      for (const context of [{}, { wanted: null }, { seen: null }, { seen: 1, wanted: null }]) {
        const { result, branch } = decide({ operator, valueOf: 'context.wanted' }, null, context);
        expect([result, branch]).toEqual([false, 'no']);
      }
    },
  );

  it('ignores the other field when it only looks whether there is a value', () => {
    const given = { operator: 'exists', value: 1, valueOf: 'order.id' };
    expect(stepModules.CONDITION.config.safeParse({ field: 'event.x', ...given }).success).toBe(
      true,
    );
    expect(decide(given, null, { seen: 1 }).result).toBe(true);
  });

  it('says what it has read, also in a branch of several', () => {
    const context = { seen: 2, two: 2 };
    const branch = (id: string, valueOf: string) => ({ id, operator: 'equals', valueOf });
    const branches = [branch('none', 'contact.data.two'), branch('hit', 'event.two')];
    const decided = decide({ mode: 'multi', branches }, null, context);
    expect(decided).toMatchObject({ branch: 'hit', expectedValue: 2, actualValue: 2 });
    const missed = decide({ operator: 'equals', valueOf: 'context.gone' }, null, context);
    expect(missed).toMatchObject({ branch: 'no', expectedValue: null });
  });

  it.each([
    [{ value: 1, valueOf: 'event.x' }, 'valueOf not_allowed'],
    [{}, 'value invalid_type'],
    [{ valueOf: 'workflow.x' }, 'valueOf unsupported_field'],
    [{ valueOf: 'data.x' }, 'valueOf unsupported_field'],
    [{ valueOf: 'order.id' }, 'valueOf unsupported_field'],
    [{ valueOf: 'contact.x' }, 'valueOf unsupported_field'],
    [{ valueOf: 'event.' }, 'valueOf unsupported_field'],
    [{ valueOf: 1 }, 'valueOf invalid_type'],
    [
      { field: 'contact.email', operator: 'greaterThan', valueOf: 'event.x' },
      'operator unsupported_operator',
    ],
  ])('refuses %j', (given, fault) => {
    const config = { field: 'event.x', operator: 'equals', ...given };
    const { error } = stepModules.CONDITION.config.safeParse(config);
    const faults = error?.issues.map((issue) => {
      const code = issue.code === 'custom' ? (issue.params?.['code'] as string) : issue.code;
      return `${issue.path.join('.')} ${code}`;
    });
    expect(faults).toEqual([fault]);
  });
});
