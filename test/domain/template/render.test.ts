import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inspectTemplate } from '../../../domain/template/inspect.ts';
import { checkTemplate, compileTemplate, renderTemplate } from '../../../domain/template/render.ts';
import { html, id, variables, subject, text } from './rendering.ts';
import { cpuMs } from '../../support/processes/cpu-time.ts';

describe('fallbacks', () => {
  it('uses the fallback for a missing or empty value, and keeps 0 and false', () => {
    const source = '{{name ?? there}}';
    expect(html(source)).toBe('there');
    expect(html(source, null, { name: '' })).toBe('there');
    expect(html(source, null, { name: null })).toBe('there');
    expect(html(source, null, { name: 'Ada' })).toBe('Ada');
    expect(html(source, null, { name: 0 })).toBe('0');
    expect(html(source, null, { name: false })).toBe('false');
  });

  it.each([
    ['{{name ?? "dear friend"}}', 'dear friend'],
    ["{{name ?? 'dear friend'}}", 'dear friend'],
    ['{{name ?? &quot;dear friend&quot;}}', 'dear friend'],
    ["{{name??don't know}}", "don't know"],
    ['{{ name ?? a | b }}', 'a | b'],
    ['{{ name ?? say "hi" }}', 'say "hi"'],
    ['{{ name ?? C:\\new }}', 'C:\\new'],
    ['{{ name ?? }}', ''],
    ['{{ data.name ?? x }}', 'x'],
    ['{{ first name ?? x }}', 'x'],
    ['{{ name | upcase ?? x }}', 'x'],
    ['a {{- name ?? x -}} b', 'axb'],
    ['{{ name ?? <b>you</b> }}', '<b>you</b>'],
    ['{{ void ?? <b>you</b> }}', '<b>you</b>'],
    ['{{ nil ?? x }}', 'x'],
    ['{{ "a??b" }}', 'a??b'],
  ])('reads %s as %s', (source, expected) => {
    expect(html(source, { void: '' })).toBe(expected);
  });
});

describe('names', () => {
  it('lets system names win over all data', () => {
    const given = {
      id: '1',
      svc_id: '2',
      email: '3',
      svc_email: '4',
      subscribed: 'x',
      locale: 'y',
    };
    expect(
      html('{{id}} {{svc_id}} {{email}} {{svc_email}} {{subscribed}} {{locale}}', given, given),
    ).toBe(`${id} ${id} ada@x.example ada@x.example true en`);
    expect(html('{{unsubscribeUrl}}', { unsubscribeUrl: 'x' }, { unsubscribeUrl: 'x' })).toBe(
      `https://api.example/unsubscribe/${id}?e=1`,
    );
  });

  it('lets given values win over stored ones, and those over context', () => {
    const source =
      '{{a}}{{b}}{{c}} {{data.a}}{{data.b}}{{data.c}} {{event.a}}{{event.b}}{{event.c}}';
    expect(html(source, { a: 2, b: 2 }, { a: 1 }, { a: 3, b: 3, c: 3 })).toBe('123 12 333');
  });

  it('keeps the name event for data where there is no context', () => {
    expect(html('{{event}}', { event: 'Summit' })).toBe('Summit');
  });

  it('reads keys with spaces, also with filters, under data and with an apostrophe', () => {
    const data = { 'first name': 'ada', "user's name": 'bo', 'terms and conditions': 'ok' };
    expect(html('{{ first name }}', data)).toBe('ada');
    expect(html('{{first&nbsp;name}}', data)).toBe('ada');
    expect(html('{{ first name | upcase }}', data)).toBe('ADA');
    expect(html('{{ data.first name | upcase }}', data)).toBe('ADA');
    expect(html("{{ user's name }} {{ user's name }}", data)).toBe('bo bo');
    expect(html('{{ terms and conditions }}', data)).toBe('ok');
  });

  it('shows nothing for a missing variable', () => {
    expect(html('[{{a}}{{a.b.c}}{{ data.x }}{{ event.x }}]')).toBe('[]');
  });

  it('sees given values in tags, with entities in the delimiters', () => {
    expect(html('{% if plan == "pro" %}A{% else %}B{% endif %}', null, { plan: 'pro' })).toBe('A');
    expect(
      html('{% if plan == &quot;pro&quot; and n &gt; 1 %}A{% endif %}', { plan: 'pro', n: 2 }),
    ).toBe('A');
  });

  it.each([
    ['{{ name ?? &#x27;there&#x27; }}', 'there'],
    ['{{ name ?? &apos;friend&apos; }}', 'friend'],
    ['{{ name ?? F&eacute;lix&hellip; &#x1F600;&#128512; }}', 'Félix… 😀😀'],
    ['{% if plan == &#x27;pro&#x27; %}P{% endif %}', 'P'],
    ['{% if plan == &QUOT;pro&QUOT; &nbsp;and&#160;n&#xA0;&GT; 1 %}P{% endif %}', 'P'],
    ['{{ plan &#124; append: &#34;&#33;&#34; &vert; upcase }}', 'PRO!'],
    ['{{ name ?? &amp;quot; &#38;lt; }}', '&quot; &lt;'],
    ['{{ name ?? R&D &nope; &#0; &#xD800; &copy=1 }}', 'R&D &nope; \ufffd \ufffd &copy=1'],
    ['{{ name ?? &#99999999999999999999; }}', '\ufffd'],
    ['&eacute;{% raw %}&eacute;{% endraw %}', '&eacute;&eacute;'],
  ])('decodes the HTML entities in the delimiters of %s', (source, expected) => {
    expect(html(source, null, { plan: 'pro', n: 2 })).toBe(expected);
  });

  it('takes 0 and "" as false and an empty list as true', () => {
    const source = '{% if x %}yes{% else %}no{% endif %}';
    expect([0, '', null, false, [], 'a', 1].map((x) => html(source, null, { x }))).toEqual([
      'no',
      'no',
      'no',
      'no',
      'yes',
      'yes',
      'yes',
    ]);
  });

  it('survives and never shows what belongs to the prototype of an object', () => {
    const data = JSON.parse('{"__proto__":{"x":"own"},"constructor":"c","a":{},"toString":"t"}');
    expect(html('{{ __proto__.x }}{{ constructor }}{{ toString }}', data)).toBe('ownct');
    expect(
      html('{{ a.constructor }}{{ a.__proto__ }}{{ hasOwnProperty }}{{ valueOf }}', data),
    ).toBe('');
    expect(html('{{ data.__proto__.x }}{{ data.constructor }}', data)).toBe('ownc');
    expect(html('{{ a.constructor }}{{ valueOf }}', {})).toBe('');
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});

describe('values', () => {
  it('writes a list as list items in a body and with commas in a subject', () => {
    expect(html('{{tags}}', { tags: ['a', 'b'] })).toBe('<li>a</li>\n<li>b</li>');
    expect(subject('{{tags}}', { tags: ['a', 'b'] })).toBe('a, b');
    expect(html('[{{tags}}]', { tags: [] })).toBe('[]');
    expect(text('{{tags}}', { tags: ['<a>', 'b'] })).toBe('<a>, b');
  });

  it('writes an object as JSON, stored strings inside escaped, keys too', () => {
    expect(html('{{o}}', { o: { a: '<b>' } })).toBe('{"a":"&lt;b&gt;"}');
    expect(html('{{o}}', null, { o: { a: '<b>' } })).toBe('{"a":"<b>"}');
    expect(html('{{o}}', { o: { '<i>': [{ '<u>': 1 }] } })).toBe('{"&lt;i&gt;":[{"&lt;u&gt;":1}]}');
  });

  it('distinguishes the origins inside the data object', () => {
    expect(html('{{data}}', { a: '<b>' }, { c: '<d>' })).toBe('{"a":"&lt;b&gt;","c":"<d>"}');
    expect(html('{{data.a}}{{data.c}}{{data["c"]}}', { a: '<b>' }, { c: '<d>' })).toBe(
      '&lt;b&gt;<d><d>',
    );
  });

  it('leaves raw blocks as written and drops comments', () => {
    expect(html("{% raw %}{{ a ?? b }}{% endraw %}{% comment %}{{ don't }}{% endcomment %}.")).toBe(
      '{{ a ?? b }}.',
    );
  });

  it('writes dates in UTC and English', () => {
    expect(html('{{ d | date: "%A %H:%M" }}', { d: '2026-11-21T23:30:00+05:00' })).toBe(
      'Saturday 18:30',
    );
  });
});

describe('faulty and costly templates', () => {
  it('sends a template with a syntax error with only its plain placeholders replaced', () => {
    expect(html('{% if x %}')).toBe('{% if x %}');
    expect(
      html('{% if x %}{{name}} {{ n ?? "no one" }} {{ name | upcase }} {{ tags }}', {
        name: '<A>',
        tags: ['<'],
      }),
    ).toBe('{% if x %}&lt;A&gt; no one {{ name | upcase }} <li>&lt;</li>');
    expect(html('{% if x %}{{ data.a b }}{{ first name }}', { 'first name': 1, 'a b': 2 })).toBe(
      '{% if x %}21',
    );
    expect(html('{% include "x" %}{{ constructor }}{{ a.b }}')).toBe('{% include "x" %}');
  });

  it('gives up a giant loop at once and keeps the tags as written', () => {
    const source = '{{name}}{% for i in (1..1000000000) %}x{% endfor %}';
    expect(checkTemplate(source)).toEqual({ ok: true });
    const start = cpuMs();
    expect(html(source, { name: 'Ada' })).toBe('Ada{% for i in (1..1000000000) %}x{% endfor %}');
    expect(cpuMs() - start).toBeLessThan(1000);
  });

  it.each([
    '{{name}}{% for i in (1..3000) %}{% for j in (1..3000) %}{% endfor %}{% endfor %}',
    `{% capture a %}xxxxxxxxxx{% endcapture %}${'{% capture a %}{{a}}{{a}}{% endcapture %}'.repeat(40)}{{name}}`,
    `${'{% if name %}'.repeat(20_000)}{{name}}${'{% endif %}'.repeat(20_000)}`,
  ])('ends within three seconds (%#)', (source) => {
    const start = cpuMs();
    expect(html(source, { name: 'Ada' })).toContain('Ada');
    expect(cpuMs() - start).toBeLessThan(3000);
  });

  it('leaves placeholders as written once ten megabytes are full', () => {
    const output = html('{{v}}'.repeat(20) + '{% bad %}', null, { v: 'x'.repeat(1024 * 1024) });
    expect(output.length).toBeLessThanOrEqual(10 * 1024 * 1024);
    expect(output.endsWith('{{v}}{% bad %}')).toBe(true);
  });

  it('survives a value nested too deeply to be written', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 200_000; i++) deep = [deep];
    expect(html('a{{ v }}b', null, { v: { deep } })).toBe('a{{ v }}b');
  });

  it('reads two megabytes with ten thousand tags in linear time', () => {
    const source = `${'{{a}}'.repeat(10_000)}${'<p>x</p>'.repeat(240_000)}`;
    const start = cpuMs();
    expect(checkTemplate(source)).toEqual({ ok: true });
    expect(inspectTemplate(source).names).toEqual([{ path: ['a'], line: 1, column: 1 }]);
    expect(cpuMs() - start).toBeLessThan(5_000);
  }, 30_000);

  it('refuses to save more than ten thousand tags, and sends them plainly', () => {
    const source = '{{a}}'.repeat(10_001);
    expect(checkTemplate(source)).toEqual({
      ok: false,
      message:
        'The template has more than 10,000 tags and placeholders. Use fewer, for example by a loop.',
    });
    const { fault } = renderTemplate('html', compileTemplate(source), variables({ a: 'x' }));
    expect(fault).toMatchObject({ code: 'liquid_limit' });
    expect(html(source, { a: 'x' })).toBe('x'.repeat(10_001));
  });

  it('refuses to save a faulty template and says why', () => {
    expect(checkTemplate('<p>{{ name ?? there }}{{ first name }}{{ a | upcase }}</p>')).toEqual({
      ok: true,
    });
    const message = (source: string): string => {
      const result = checkTemplate(source);
      return result.ok ? 'ok' : result.message;
    };
    expect(message('{% if x %}')).toContain('not closed');
    expect(message('{{ x')).toContain('not closed');
    expect(message('{% include "x" %}')).toContain('no tag "include"');
    for (const name of ['render', 'layout', 'block', 'bogus']) {
      expect(message(`{% ${name} "x" %}{% end${name} %}`)).toContain(`no tag "${name}"`);
    }
    expect(message('{{ x | bogus }}')).toContain('no filter "bogus"');
    expect(message('{{ x | constructor }}')).toContain('no filter "constructor"');
    expect(message('é'.repeat(1024 * 1024 + 1))).toContain('2 MB');
    expect(message('x'.repeat(2 * 1024 * 1024))).toBe('ok');
  });

  it('leaves a value unchanged by a filter that cannot use it', () => {
    expect(html('{{ v | url_decode }}|{{ o | append: "x" }}', { v: '%', o: { toString: 1 } })).toBe(
      '%|{"toString":1}',
    );
  });

  it('never throws, whatever the template and the data', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '{{',
        '}}',
        '{%',
        '%}',
        '??',
        '|',
        '"',
        "'",
        '-',
        ' ',
        'a',
        'data.',
        'if ',
        'for i in ',
        'endfor',
        'raw',
        'endraw',
        '&quot;',
        '\\',
        '[',
        ']',
        '(1..',
        ')',
        ':',
      ),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 25 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (parts, data) => {
          const template = compileTemplate(parts.join(''));
          for (const kind of ['html', 'subject', 'text'] as const) {
            const { text } = renderTemplate(kind, template, variables(data, data, data));
            expect(typeof text).toBe('string');
          }
        },
      ),
      { numRuns: 1500 },
    );
  });
});

describe('subjects', () => {
  it('makes one header line of any value', () => {
    expect(subject('Hi {{n}}', { n: 'A\r\nBcc: x@y.z' })).toBe('Hi A Bcc: x@y.z');
    expect(subject('{{n}}', null, { n: '\u0000a\tb\u2028c\u0085 ' })).toBe('a b c');
  });

  it('cuts to 998 characters without splitting one, and names an empty subject', () => {
    expect(subject('{{n}}', { n: 'x'.repeat(2000) })).toHaveLength(998);
    expect(subject('{{n}}', { n: 'x'.repeat(997) + '😀' })).toBe('x'.repeat(997));
    expect(subject('{{n}}', { n: ' \n ' })).toBe('(no subject)');
  });

  it('never holds a line break and is never empty', () => {
    const anyText = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(anyText, anyText, (source, n) => {
        const line = subject(`${source}{{n}}`, { n });
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect(line.length).toBeGreaterThan(0);
        expect(line.length).toBeLessThanOrEqual(998);
      }),
    );
  });
});

describe('the time of a simulation', () => {
  it('is what date filters take for now and today', () => {
    const source =
      '{{ "now" | date: "%Y-%m-%d %H:%M" }}, {{ "today" | date_to_string }}, {{ 0 | date: "%Y" }}';
    const now = new Date('2027-02-03T04:05:06Z');
    const { text: rendered } = renderTemplate('text', compileTemplate(source), {
      ...variables(),
      now,
    });
    expect(rendered).toBe('2027-02-03 04:05, 03 Feb 2027, 1970');
  });
});
