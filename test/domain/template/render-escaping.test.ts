import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileTemplate, renderTemplate } from '../../../domain/template/render.ts';
import { html, variables, subject, text } from './rendering.ts';

describe('escaping by origin', () => {
  const bad = '<b>&"\'';
  const safe = '&lt;b&gt;&amp;&quot;&#39;';

  it('inserts given values as they are and escapes stored data and context', () => {
    expect(html('{{v}}', null, { v: bad })).toBe(bad);
    expect(html('{{v}}', { v: bad }, { v: bad })).toBe(bad);
    expect(html('{{v}}', { v: bad })).toBe(safe);
    expect(html('{{v}}{{event.v}}', null, undefined, { v: bad })).toBe(safe + safe);
    expect(html('{{locale}}', null)).toBe('en');
  });

  it('escapes each item of a stored list and none of a given one', () => {
    expect(html('{{v}}', { v: ['<a>', 1] })).toBe('<li>&lt;a&gt;</li>\n<li>1</li>');
    expect(html('{{v}}', null, { v: ['<a>', 1] })).toBe('<li><a></li>\n<li>1</li>');
  });

  it('never escapes subjects and texts', () => {
    expect(subject('{{v}}', { v: bad })).toBe(bad);
    expect(text('{{v}}', { v: bad })).toBe(bad);
  });

  it.each([
    ['{{ v | upcase }}', '&lt;B&gt;'],
    ['{{ v | append: g }}', '&lt;b&gt;&lt;i&gt;'],
    ['{{ g | append: v }}', '&lt;i&gt;&lt;b&gt;'],
    ['{{ "<u>" | append: v }}', '&lt;u&gt;&lt;b&gt;'],
    ['{% assign x = v %}{{ x }}', '&lt;b&gt;'],
    ['{% assign x = v | append: "" %}{% assign y = x %}{{ y }}', '&lt;b&gt;'],
    ['{% assign v = g %}{{ v }}', '<i>'],
    ['{% for i in list %}{{ i }}{% endfor %}', '&lt;b&gt;'],
    ['{% for i in given %}{{ i }}{{ v }}{% endfor %}{{ g }}', '<i>&lt;b&gt;<i>'],
    [
      '{% for i in list %}{% for j in given %}{{ i }}{{ j }}{% endfor %}{% endfor %}',
      '&lt;b&gt;<i>',
    ],
    ['{% for p in o %}{{ p[0] }}{{ p[1] }}{% endfor %}', '&lt;k&gt;&lt;b&gt;'],
    ['{% for p in o %}{{ p }}{% endfor %}', '<li>&lt;k&gt;</li>\n<li>&lt;b&gt;</li>'],
    ['{{ o | map: "<k>" }}', '<li>&lt;b&gt;</li>'],
    [
      '{% tablerow i in list %}{{ i }}{% endtablerow %}',
      '<tr class="row1"><td class="col1">&lt;b&gt;</td></tr>',
    ],
    [
      '{% tablerow i in given %}{{ i }}{% endtablerow %}',
      '<tr class="row1"><td class="col1"><i></td></tr>',
    ],
    ['{% capture x %}<u>{{ v }}</u>{% endcapture %}{{ x }}', '<u>&lt;b&gt;</u>'],
    ['{% capture x %}<u>{{ g }}</u>{% endcapture %}{{ x | upcase }}', '<U><I></U>'],
    [
      '{% capture x %}{{ v }}{% endcapture %}{% capture y %}{{ x }}{% endcapture %}{{ y | append: "<u>" }}',
      '&lt;b&gt;<u>',
    ],
    ['{% echo v %}{% echo g %}', '&lt;b&gt;<i>'],
    ['{% liquid\n echo v\n echo g\n%}', '&lt;b&gt;<i>'],
    ['{% cycle v, "x" %}{% cycle g, "x" %}', '&lt;b&gt;<i>'],
    [
      '{{ v | default: "<u>" }}{{ none | default: "<u>" }}{{ none | default: v }}',
      '&lt;b&gt;<u>&lt;b&gt;',
    ],
    ['{{ g | default: v }}', '<i>'],
    ['{% if v %}{{ g }}{% endif %}', '<i>'],
    ['{% case v %}{% when "<b>" %}{{ g }}{{ v }}{% endcase %}', '<i>&lt;b&gt;'],
    ['{{ v | raw }}', '<b>'],
    ['{{ v | raw | upcase }}', '<B>'],
    ['{{ v | upcase | raw }}', '<B>'],
    ['{{ v | raw | append: v }}', '&lt;b&gt;&lt;b&gt;'],
    ['{% assign x = v | raw %}{{ x }}', '<b>'],
    ['{{ v | escape }}{{ g | escape }}', '&lt;b&gt;&lt;i&gt;'],
    ['{{ v | escape | append: "<u>" }}', '&lt;b&gt;<u>'],
    ['{{ v | escape_once }}{{ half | escape_once }}', '&lt;b&gt;&lt;&lt;'],
    ['{{ list | escape }}{{ given | escape }}', '<li>&lt;b&gt;</li><li>&lt;i&gt;</li>'],
    ['{{ lines | newline_to_br }}', '&lt;b&gt;<br />\nx'],
    ['{{ coded | url_decode }}', '&lt;b&gt;'],
    ['{{ coded | escape | url_decode }}', '&lt;b&gt;'],
    ['{% capture x %}{{ coded }}{% endcapture %}{{ x | url_decode }}', '&lt;b&gt;'],
    ['{{ v | escape | replace: "b", v }}', '&amp;lt;&lt;b&gt;&amp;gt;'],
    ['{{ list | join: "<br>" }}', '&lt;b&gt;'],
    ['{{ list | first }}{{ list[0] }}{{ list.last }}', '&lt;b&gt;&lt;b&gt;&lt;b&gt;'],
    ['{{ list | concat: given }}', '<li>&lt;b&gt;</li>\n<li>&lt;i&gt;</li>'],
    ['{{ list | size | append: " <u>" }}', '1 <u>'],
    ['{{ labels[v] }}', '&lt;l&gt;'],
    ['{{ list | where_exp: "i", "i != g" }}', '<li>&lt;b&gt;</li>'],
    ['{{ list | find_exp: "i", "i | raw" }}', '&lt;b&gt;'],
    ['{{ list | find_exp: "i", "i | size" }}', '&lt;b&gt;'],
    ['{{ v | nonsense }}{{ g | nonsense }}', '&lt;b&gt;<i>'],
    ['{{ ["v"] }}{{ "v" }}', '&lt;b&gt;v'],
    ['{{ v | json }}', '&quot;&lt;b&gt;&quot;'],
    ['{{ n | times: 2 }}{{ n | append: "<u>" }}', '63<u>'],
  ])('%s', (source, expected) => {
    const stored = {
      v: '<b>',
      list: ['<b>'],
      o: { '<k>': '<b>' },
      coded: '%3Cb%3E',
      lines: '<b>\nx',
      half: '&lt;<',
      n: 3,
    };
    const given = { g: '<i>', given: ['<i>'], labels: { '<b>': '<l>' } };
    expect(html(source, stored, given)).toBe(expected);
  });

  const leaves = `{{ v }} {{ w ?? x }} {{ data }} {{ event }} {{ o }} {{ list }} {{ x }} {{ y }}
    {{ i }} {{ i[0] }} {{ i[1] }} {{ x | newline_to_br }} {% echo x %} {% cycle v, w %}
    {% increment x %}`.match(/\{[{%].*?[%}]\}/g)!;
  const operands = ['v', 'w', 'x', 'y', 'i', 'o', 'list', 'data', '"a"', 'event.k'];
  const steps = `upcase; escape; escape_once; url_decode; base64_decode; base64_encode; strip_html;
    json; inspect; join: w; split: "&"; append: x; prepend: v; replace: "a", w; remove: "a";
    truncate: 9, v; default: v; first; last; reverse; uniq; slice: 0, 9; group_by: "a"; map: "a";
    where_exp: "i", "i != x"; find: "a"; find_exp: "i", "i | size"; find_exp: "i", "i | raw";
    group_by_exp: "i", "i | size"; reject_exp: "i", "x | escape"; concat: list; push: v; date: v;
    sort; strip; size; unknown`.split(/;\s+/);
  const output = fc
    .tuple(fc.constantFrom(...operands), fc.array(fc.constantFrom(...steps), { maxLength: 4 }))
    .map(([operand, chain]) => [operand, ...chain].join(' | '));
  const wrappers = [
    ['{% for i in list %}', '{% endfor %}'],
    ['{% for i in o %}', '{% endfor %}'],
    ['{% for i in data %}', '{% endfor %}'],
    ['{% capture x %}', '{% endcapture %}'],
    ['{% capture y %}', '{% endcapture %}'],
    ['{% if v %}', '{% endif %}'],
  ] as const;
  const { template } = fc.letrec<{ template: string }>((tie) => ({
    template: fc
      .array(
        fc.oneof(
          { depthSize: 'small' },
          fc.constantFrom(...leaves),
          output.map((expression) => `{{ ${expression} }}`),
          output.map((expression) => `{% assign x = ${expression} %}`),
          output.map((expression) => `{% assign y = ${expression} %}`),
          fc.tuple(fc.constantFrom(...wrappers), tie('template')).map(([[a, b], t]) => a + t + b),
        ),
        { maxLength: 6 },
      )
      .map((parts) => parts.join('')),
  }));

  it('never lets a markup character of stored text through', () => {
    const unit = fc.constantFrom('<', '>', '"', '&lt;', '&', '%3C', 'PA==', 'a', '\n');
    const storedText = fc.string({ unit, maxLength: 6 });
    fc.assert(
      fc.property(template, storedText, storedText, (source, v, w) => {
        const compiled = compileTemplate(source);
        expect(compiled.nodes).toBeDefined();
        const stored = { v, w, list: [v, w], o: { [v]: w, a: v } };
        const shown = renderTemplate('html', compiled, variables(stored, undefined, { k: w })).text;
        const ours = /<\/?li>|<br \/>/gi;
        expect(shown.replaceAll(ours, '')).not.toContain('<');
      }),
      { numRuns: 3000 },
    );
  });
});
