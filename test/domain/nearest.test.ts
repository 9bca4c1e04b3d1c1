import { expect, it } from 'vitest';
import { distance, nearest } from '../../domain/text-rules.ts';

it.each([
  ['', '', 0],
  ['plan', 'plan', 0],
  ['plna', 'plan', 2],
  ['plan', 'plans', 1],
  ['email.clicked', 'email.click', 2],
  ['', 'abc', 3],
])('%s and %s are %i letters apart', (one, other, apart) => {
  expect(distance(one, other)).toBe(apart);
  expect(distance(other, one)).toBe(apart);
});

it('finds the nearest word, the first of several, and none beyond the distance', () => {
  expect(nearest('plna', ['name', 'plan', 'play'])).toBe('plan');
  expect(nearest('a', ['b', 'c'])).toBe('b');
  expect(nearest('plna', ['seats'], 2)).toBeUndefined();
  expect(nearest('plna', [])).toBeUndefined();
});
