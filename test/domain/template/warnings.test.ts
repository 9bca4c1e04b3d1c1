import { describe, expect, it } from 'vitest';
import { inspectTemplate } from '../../../domain/template/inspect.ts';
import { checkTemplate, compileTemplate, renderTemplate } from '../../../domain/template/render.ts';
import { mailWarnings } from '../../../domain/template/warnings.ts';
import { id, variables } from './rendering.ts';

/** Returns the warnings of a body, as texts: code and position. */
function warningsOf(
  source: string,
  data: Record<string, unknown> = {},
  messageClass = 'MARKETING',
) {
  const given = variables(data);
  const { text, fault } = renderTemplate('html', compileTemplate(source), given);
  const inspection = inspectTemplate(source);
  return mailWarnings({
    parts: [{ name: 'body', source, inspection, fault }],
    variables: given,
    messageClass,
    body: text,
    bytes: text.length,
  }).map(({ code, line, column }) => (line === null ? code : `${code} ${line}:${column}`));
}

describe('the fault of a template', () => {
  it.each([
    ['Hi\n  {% if x %}', 'liquid_syntax', 2, 3],
    ['{{ a ?? "a longer fallback" }}\n\n{{ first name }} {% nope %}', 'liquid_syntax', 3, 18],
    ['{% if a &gt; 1 %}x{% endif %}{% for %}', 'liquid_syntax', 1, 30],
    ['a\n{% for i in (1..100000000) %}x{% endfor %}', 'liquid_limit', 2, 1],
  ])('%j is %s in line %i, column %i', (source, code, line, column) => {
    const { fault } = renderTemplate('html', compileTemplate(source), variables());
    expect(fault).toEqual({ code, line, column, message: expect.any(String) });
    expect(fault?.message).not.toMatch(/line:|col:/);
  });

  it('is said with its place when a template is saved', () => {
    expect(checkTemplate('a\n {% if x %}')).toEqual({
      ok: false,
      message: 'The tag {% if x %} is not closed (line 2, column 2).',
    });
  });

  it('is none where a filter is unknown: the value stays as it is', () => {
    const template = compileTemplate('{{ name | shout }}');
    expect(renderTemplate('html', template, variables({ name: 'Ada' }))).toEqual({
      text: 'Ada',
      fault: null,
    });
  });
});

describe('warnings', () => {
  it('name what nothing is named, once, where it stands first', () => {
    const source = 'Hi {{name}},\n<p>{{ nmae }} {{ nmae }} {{data.plan}} {{data.plna}}</p>';
    const found = warningsOf(source, { name: 'Ada', plan: 'pro' });
    expect(found).toEqual(['unknown_variable 2:4', 'unknown_variable 2:40']);
  });

  it.each([
    '{{ nmae ?? you }}',
    '{{ nmae ?? you }}{% assign x = 1 %}{{ x }}',
    '{{ nmae | default: "friend" | upcase }}{{ nmae | strip | default: "you" }}',
    '{% assign who = nmae | default: "you" %}{{ who }}',
    '{% if nmae == blank %}Hi{% elsif data.nmae %}Ho{% endif %}{% unless nmae %}{% endunless %}',
    '{% if nmae %}Hi {{ nmae }}{% endif %}{% case plna %}{% when "pro" %}Pro{% endcase %}',
    '{% for item in items %}{{ item.name }}{{ forloop.index }}{% endfor %}',
    '{% capture c %}x{% endcapture %}{{ c }}',
    '{{id}}{{svc_id}}{{email}}{{svc_email}}{{subscribed}}{{locale}}{{unsubscribeUrl}}{{manageUrl}}',
    '{{ items.size }}{{ items[0].name }}{{ address.city }}',
    '{{ "now" | date: "%Y" }}{{ 1 | plus: 2 }}',
    '{% raw %}{{ nmae }}{% endraw %}',
    '{% comment %}{{ nmae }}{% endcomment %}',
  ])('say nothing of %s', (source) => {
    expect(warningsOf(source, { items: [{ name: 'a' }], address: { city: 'Oslo' } })).toEqual([]);
  });

  it('look into objects, branches and arguments', () => {
    const source = '{{ address.zip }}{% if vip %}{{ plna }}{% endif %}{{ 1 | plus: more }}';
    expect(warningsOf(source, { address: { city: 'Oslo' } })).toEqual([
      'unknown_variable 1:1',
      'unknown_variable 1:30',
      'unknown_variable 1:51',
    ]);
  });

  it('name what stands behind default', () => {
    expect(warningsOf('{{ nick | default: nmae }}')).toEqual(['unknown_variable 1:1']);
    expect(warningsOf('{{ nick | upcase }}\n{{ nick | default: "x" }}')).toEqual([
      'unknown_variable 1:1',
    ]);
  });

  it('name filters that are a part of the text behind ??', () => {
    const source = 'Hi {{ nick ?? friend | upcase }}\n{{ nick ?? "friend" | default: "x" }}';
    expect(warningsOf(source)).toEqual(['filter_in_fallback 1:4', 'filter_in_fallback 2:1']);
    expect(warningsOf('{{ nick | upcase ?? FRIEND }}{{ nick ?? "a | upcase" }}')).toEqual([]);
    expect(warningsOf('{{ nick ?? us | them }}')).toEqual([]);
  });

  it('name unknown filters, broken syntax and limits', () => {
    expect(warningsOf('a\n{{ 1 | shout }}')).toEqual(['unknown_filter 2:1']);
    expect(warningsOf('{% if %}')).toEqual(['liquid_syntax 1:1']);
    expect(warningsOf('{% for i in (1..100000000) %}x{% endfor %}')).toEqual(['liquid_limit 1:1']);
  });

  it('ask for an opt-out link in HEADLESS mail only', () => {
    expect(warningsOf('x', {}, 'HEADLESS')).toEqual(['missing_unsubscribe_link']);
    expect(warningsOf('x', {}, 'TRANSACTIONAL')).toEqual([]);
    expect(warningsOf('<a href="{{manageUrl}}">x</a>', {}, 'HEADLESS')).toEqual([]);
    expect(warningsOf(`/unsubscribe/${id}`, {}, 'HEADLESS')).toEqual([]);
  });

  it('name large messages, images without alt text and links without encryption', () => {
    expect(warningsOf('x'.repeat(102 * 1024))).toEqual([]);
    expect(warningsOf('x'.repeat(102 * 1024 + 1))).toEqual(['large_message']);
    expect(warningsOf('<img src="a">\n<IMG src=b alt="">\n <img data-alt="x" src="c"/>')).toEqual([
      'image_without_alt 1:1',
      'image_without_alt 3:2',
    ]);
    expect(warningsOf('<a class=x\n href="http://a.test">')).toEqual(['http_link 2:2']);
    expect(warningsOf('<a href="https://a.test">http://a.test</a>')).toEqual([]);
    expect(warningsOf('<a href="{{ u }}">', { u: 'http://a.test' })).toEqual(['http_link']);
  });

  it('are 100 at most', () => {
    const source = Array.from({ length: 300 }, (_, n) => `{{ n${n} }}`).join('');
    expect(warningsOf(source)).toHaveLength(100);
  });

  it('end for a template nested deeper than it can be walked through', () => {
    const source = `${'{% if v %}'.repeat(20_000)}{{ x }}${'{% endif %}'.repeat(20_000)}`;
    expect(inspectTemplate(source).unknownFilters).toEqual([]);
  });
});
