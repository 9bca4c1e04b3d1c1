import { expect, it } from 'vitest';
import { inReferenceOrder } from '../../../domain/files/reference-order.ts';

const item = (id: string, ...refersTo: string[]) => ({ id, refersTo });
const orderOf = (...items: ReturnType<typeof item>[]) =>
  inReferenceOrder(items).ordered.map(({ id }) => id);

it('places an object after those to which it refers', () => {
  expect(orderOf(item('c', 'b', 'a'), item('b', 'a'), item('a'))).toEqual(['a', 'b', 'c']);
});

it('keeps the given order otherwise, and ignores objects that are not in the list', () => {
  expect(orderOf(item('b', 'elsewhere'), item('a'), item('c', 'a', 'a'))).toEqual(['b', 'a', 'c']);
});

it('finds the objects that refer to themselves, and those that depend on them', () => {
  const { ordered, circular } = inReferenceOrder([
    item('a', 'b'),
    item('b', 'a'),
    item('c', 'a'),
    item('self', 'self'),
    item('d'),
  ]);
  expect(ordered.map(({ id }) => id)).toEqual(['d']);
  expect(circular.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'self']);
});
