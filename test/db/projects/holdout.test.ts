import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { holdoutSlot } from '../../../db/projects/holdout.ts';

/** Ids like those of contacts, the same in each run. */
const ids = Array.from({ length: 100_000 }, (_, index) => {
  const hex = createHash('md5').update(String(index)).digest('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
});

it.each(['a', '4f0c1f0a9b6d4a51b7c8d2e3f4a5b6c7', 'é'.repeat(64)])(
  'spreads 100,000 contacts evenly over the slots with the salt %s',
  (salt) => {
    const slots = ids.map((id) => holdoutSlot(salt, id));
    expect(slots.every((slot) => Number.isInteger(slot) && slot >= 0 && slot < 10_000)).toBe(true);
    for (const percent of [1, 5, 10, 20, 50]) {
      const share = slots.filter((slot) => slot < percent * 100).length / ids.length;
      expect(Math.abs(share * 100 - percent)).toBeLessThan(0.5);
    }
  },
);

it('chooses independent groups with another salt', () => {
  const isIn = (salt: string) => (id: string) => holdoutSlot(salt, id) < 2_000;
  const both = ids.filter(isIn('one')).filter(isIn('two'));
  expect(Math.abs((both.length / ids.length) * 100 - 4)).toBeLessThan(0.5);
});

it('gives a contact the same slot in every release', () => {
  const contactId = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';
  expect(holdoutSlot('salt', contactId)).toBe(8155);
});
