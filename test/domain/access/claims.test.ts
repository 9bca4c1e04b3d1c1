import { expect, it } from 'vitest';
import { readClaimTexts } from '../../../domain/access/claims.ts';

it('reads texts and lists of texts, each once', () => {
  expect(readClaimTexts({ team: 'a', groups: ['x', 'y', 'x'] })).toEqual([
    { claim: 'team', value: 'a' },
    { claim: 'groups', value: 'x' },
    { claim: 'groups', value: 'y' },
  ]);
});

it('leaves out what no rule can name', () => {
  const claims = {
    number: 5,
    yes: true,
    nothing: null,
    nested: { groups: 'x' },
    mixed: [1, ['x'], { a: 'x' }, 'z'],
    empty: '',
    long: 'v'.repeat(201),
    nul: 'a\0b',
    half: '\ud800',
    ['n'.repeat(101)]: 'x',
  };
  expect(readClaimTexts(claims)).toEqual([{ claim: 'mixed', value: 'z' }]);
});
