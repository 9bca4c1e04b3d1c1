import { describe, expect, it } from 'vitest';
import { isCheap, isQuicklyRead, templateWeight } from '../../../domain/template/render.ts';

describe('what a template may cost', () => {
  it.each([
    ['<p>Hello</p>', 0],
    ['{{name}}', 1],
    ['{{ first name | upcase | append: "!" ?? you }}', 7],
    ['{% if plan == "pro" %}A{% elsif x %}B{% else %}C{% endif %}', 8],
    ['{% comment %}{% for i in (1..9) %}{% endfor %}{% endcomment %}', 3],
    ['{{ d | date: "%A %H:%M" }}', 3],
  ])('is counted in %s', (source, weight) => {
    expect(templateWeight(source)).toBe(weight);
  });

  it.each([
    '{% for i in list %}{{ i }}{% endfor %}',
    '{% tablerow i in list %}{{ i }}{% endtablerow %}',
    '{% assign a = a %}',
    '{% capture a %}{% endcapture %}',
    '{% liquid\nfor i in list\nendfor %}',
    '{{ (1..9) }}',
    '{% if (1..9) contains 3 %}{% endif %}',
    '{{ v | replace: "", v }}',
    '{{ v | split: "" }}',
    '{{ v | join: v }}',
    '{{ v | where_exp: "i", "i" }}',
    '{{ v | date: "%9Y" }}',
    '{{ v | date: f }}',
    '{{ v | date: "%Y" | date: f }}',
    '{{ a }}'.repeat(1_001),
    '{{ name ?? a | b }}',
    `{% if ${'a contains b and '.repeat(2_000)}c %}{% endif %}`,
    `{{ ${'v['.repeat(20_000)}0${']'.repeat(20_000)} }}`,
    'x'.repeat(200_001),
  ])('cannot be told for %.40s', (source) => {
    expect(templateWeight(source)).toBe(Infinity);
  });

  it('grows with the values', () => {
    expect(isCheap(1_000, [{ a: 'x'.repeat(1_000) }, null, undefined])).toBe(true);
    expect(isCheap(1_000, [{ a: 'x'.repeat(100_000) }])).toBe(false);
    expect(isCheap(1, [{ a: 'x'.repeat(100_000) }])).toBe(true);
    expect(isCheap(0, [null])).toBe(true);
    expect(isCheap(Infinity, [])).toBe(false);
  });

  it('has nothing to do with how long it takes to be read', () => {
    expect(isQuicklyRead('{% for i in (1..1000000000) %}x{% endfor %}')).toBe(true);
    expect(isQuicklyRead('{{a}}'.repeat(1_001))).toBe(false);
    expect(isQuicklyRead('x'.repeat(200_001))).toBe(false);
  });
});
