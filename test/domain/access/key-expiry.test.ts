import { expect, it } from 'vitest';
import { daysLeft, nextNotice } from '../../../domain/access/key-expiry.ts';

const end = new Date('2027-06-30T12:00:00Z');
const before = (days: number, ms = 0) => new Date(end.getTime() - days * 86_400_000 + ms);

it.each([
  [before(100), 30],
  [before(30, -1), 30],
  [before(30), 7],
  [before(7, 1), 1],
  [before(1), 0],
  [before(0, -1), 0],
])('after %j, the next notice comes with %i days left', (since, days) => {
  const next = nextNotice(end, since);
  expect(next).toEqual(before(days));
  expect(daysLeft(end, next!)).toBe(days);
});

it('there is no notice after the end, or of a key without one', () => {
  expect(nextNotice(end, end)).toBeNull();
  expect(nextNotice(null, before(0))).toBeNull();
});
