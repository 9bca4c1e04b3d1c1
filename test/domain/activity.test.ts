import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  activityTypes,
  isItemId,
  itemForms,
  pastTypes,
  rowsBefore,
} from '../../domain/activity.ts';

/** Ids with equal beginnings, also with the prefix of campaigns. */
const id = fc.oneof(
  fc.constantFrom('0', 'c', 'ca', 'caf', 'cb', 'f').chain((head) =>
    fc.constantFrom('0', 'a', 'f').map((rest) => {
      const digits = head.padEnd(32, rest);
      return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    }),
  ),
  fc.uuid(),
);
const type = fc.constantFrom(...pastTypes);
const itemId = ([of, row]: readonly [(typeof pastTypes)[number], string]) =>
  `${itemForms[of].prefix}${row}${itemForms[of].suffix}`;

describe('rowsBefore', () => {
  it('gives the rows whose items come before an item as text', () => {
    fc.assert(
      fc.property(type, id, fc.tuple(type, id), (of, row, after) => {
        const bound = rowsBefore(itemForms[of], itemId(after));
        const within = row < bound.id || (bound.inclusive && row === bound.id);
        expect(within).toBe(itemId([of, row]) < itemId(after));
      }),
      { numRuns: 2000 },
    );
  });

  it('gives no row before the empty text', () => {
    for (const form of Object.values(itemForms)) {
      expect(rowsBefore(form, '').inclusive).toBe(false);
      expect(rowsBefore(form, '').id).toMatch(/^[0-]+$/);
    }
  });
});

describe('isItemId', () => {
  it('knows the id of every item', () => {
    fc.assert(
      fc.property(type, id, (of, row) => {
        expect(isItemId(itemId([of, row]))).toBe(true);
      }),
    );
  });

  it.each(['', 'x', "' or 1=1", 'campaign_x_sent', `${'0'.repeat(36)}_sent`])(
    'refuses %j',
    (text) => expect(isItemId(text)).toBe(false),
  );
});

describe('the types', () => {
  it('are all known to have happened or to be still to come', () => {
    const upcoming = ['campaign.scheduled', 'workflow.email.scheduled', 'workflow.waiting'];
    expect(activityTypes.filter((one) => !upcoming.includes(one))).toEqual(pastTypes);
  });
});
