import { describe, expect, it } from 'vitest';
import { fieldOf, isValueOperator } from '../../../domain/filter/filter.ts';
import { evaluateStepCondition } from '../../../domain/filter/step.ts';
import { filterTable, nameOf, plainContact, type TableContact } from './filter-table.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';

/** The rows of the table whose operators a CONDITION step has: they mean the same there. */
const rows = filterTable.flatMap((row) => {
  const { operator } = row.filter;
  return isValueOperator(operator) ? [{ ...row, operator }] : [];
});
const dataRows = rows.filter(({ filter }) => fieldOf(filter.field)?.kind === 'data');

type Row = (typeof rows)[number];
type Data = Record<string, unknown> | null;

const named = (some: Row[]) => some.map((row) => [nameOf(row), row] as const);

/**
 * Returns the decisions of a step with a field of its own: as one condition and as one branch of
 * several.
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
    // A config that no step can have would prove nothing.
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

describe.each(['event', 'workflow'])('a CONDITION step about the context (%s.)', (root) => {
  it.each(named(dataRows))('%s', (_, row) => {
    // Not that one is asked.
    const contact = { data: { x: 'of the contact' } };
    const field = row.filter.field.replace('data', root);
    const { decided, expected } = decisions(field, row, {
      contact,
      context: row.contact.data ?? null,
    });
    expect(decided).toEqual(expected);
  });
});
