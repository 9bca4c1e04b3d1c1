import { describe, expect, it } from 'vitest';
import { isReservedEvent } from '../../../domain/event-names.ts';
import { segmentSlug } from '../../../domain/contact/segment-slug.ts';
import { EventName } from '../../../domain/workflow/steps/schemas.ts';

describe('the slug of a segment', () => {
  it.each([
    ['VIP Customers!', 'vip-customers'],
    ['  Paid -- 30 days  ', 'paid-30-days'],
    ['snake_case', 'snake_case'],
    ['- edge -', 'edge'],
    ['a.b/c', 'abc'],
    ['100% (new)', '100-new'],
    ['Größe Café', 'größe-café'],
    ['Größe Café'.normalize('NFD'), 'größe-café'],
    ['सूची', 'सूची'],
    ['!!!', 'the-id'],
    ['🎉', 'the-id'],
    ['-', 'the-id'],
    ['x'.repeat(100), 'x'.repeat(86)],
    [`${'x'.repeat(85)} word`, 'x'.repeat(85)],
    [`${'x'.repeat(85)}𐐀`, 'x'.repeat(85)],
  ])('of %j is %j', (name, slug) => {
    expect(segmentSlug({ id: 'the-id', name })).toBe(slug);
    const eventName = `segment.${slug}.entry`;
    expect([isReservedEvent(eventName), EventName.safeParse(eventName).success]).toEqual([
      true,
      true,
    ]);
  });
});
