import { describe, expect, it } from 'vitest';
import {
  compileTemplate,
  type RenderKind,
  renderIfCheap,
} from '../../../domain/template/render.ts';
import { createRenderer } from '../../../providers/rendering/renderer.ts';
import { html, variables } from '../../domain/template/rendering.ts';
import { use } from '../../support/use.ts';

const renderer = use(createRenderer({ threads: 2 }));

type Layers = Parameters<typeof variables>;
const render = (source: string, ...layers: Layers) => renderAs('html', source, ...layers);
const renderAs = async (kind: RenderKind, source: string, ...layers: Layers) =>
  (await renderer.render(kind, compileTemplate(source), variables(...layers))).text;

/**
 * Returns the answer, and whether the event loop stayed free during the work: no pause was longer
 * than half of the work's duration, or 0.7 s. Work on this thread would block it the whole time.
 */
async function besides<T>(work: Promise<T>): Promise<{ answer: T; isFree: boolean }> {
  const start = performance.now();
  let pauseMs = 0;
  let last = start;
  const beat = setInterval(() => {
    pauseMs = Math.max(pauseMs, performance.now() - last);
    last = performance.now();
  }, 5);
  const answer = await work;
  clearInterval(beat);
  const end = performance.now();
  const longestMs = Math.max(pauseMs, end - last);
  return { answer, isFree: longestMs < Math.max(700, (end - start) / 2) };
}

const items = '{% for i in items %}<li>{{ i.name | upcase }}</li>{% endfor %}';

describe('rendering', () => {
  it('gives the same text in a thread as at once', async () => {
    const data = { items: [{ name: 'a<b' }, { name: 'c' }], name: 'Ada' };
    expect(renderIfCheap('html', [compileTemplate(items)], variables(data))).toBeNull();
    expect(await render(items, data)).toBe('<li>A&lt;B</li><li>C</li>');
    expect(await render(items, null, data)).toBe(html(items, null, data));
    expect(await renderAs('subject', '{% assign a = "x\ny" %}{{a}}')).toBe('x y');
    expect(await renderAs('text', '{% assign a = name %}{{a}}', { name: '<' })).toBe('<');
  });

  it('does cheap ones without a thread', async () => {
    const lone = createRenderer({ threads: 0 });
    const template = compileTemplate('{% if name %}Hi {{ name | upcase ?? you }}{% endif %}');
    expect(await lone.render('html', template, variables({ name: 'Ada' }))).toEqual({
      text: 'Hi ADA',
      fault: null,
    });
    await lone.close();
  });

  it('renders texts that belong together in one go', async () => {
    const sources = ['{% assign a = name %}{{a}}', '{{name}}', '{% if %}{{name}}'];
    const texts = await renderer.renderTexts(sources, variables({ name: 'Ada' }));
    expect(texts.map(({ text }) => text)).toEqual(['Ada', 'Ada', '{% if %}Ada']);
  });

  it('renders many at once, each with its own values', async () => {
    const texts = await Promise.all(
      Array.from({ length: 200 }, (_, n) => render(items, { items: [{ name: `n${n}` }] })),
    );
    expect(texts).toEqual(Array.from({ length: 200 }, (_, n) => `<li>N${n}</li>`));
  });

  it('falls back for a value that cannot be copied', async () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 200_000; i += 1) deep = [deep];
    const source = '{{name}}{% assign a = v %}';
    expect(await render(source, null, { name: 'Ada', v: { deep } })).toBe('Ada{% assign a = v %}');
  });
});

/** Two filters that take seconds between two checks of the time limit. */
const slow = '{{ v | split: "" | sort_natural | sort | uniq | size }}';
const long = 'ab'.repeat(1_000_000);
const doubling = '{% assign a = a | append: a %}'.repeat(60);
const bombs: [name: string, source: string, data?: Record<string, unknown>][] = [
  ['a giant loop', '{% for i in (1..1000000000) %}x{% endfor %}'],
  [
    'nested loops',
    '{% for i in (1..9000) %}{% for j in (1..9000) %}{% for k in (1..9000) %}{% endfor %}{% endfor %}{% endfor %}',
  ],
  ['a giant range as a value', '{{ (1..9000000) }}'],
  ['a search in a giant range', "{{ (1..9000000) | where_exp: 'i', 'i > 5' | size }}"],
  ['doubling by append', `{% assign a = "xxxxxxxxxx" %}${doubling}{{ a }}`],
  [
    'doubling by replace',
    `{% assign a = "xx" %}${'{% assign a = a | replace: "x", "xxxxxxxxxx" %}'.repeat(30)}{{ a }}`,
  ],
  [
    'doubling by capture',
    `{% capture a %}xxxxxxxxxx{% endcapture %}${'{% capture a %}{{a}}{{a}}{% endcapture %}'.repeat(60)}{{ a }}`,
  ],
  [
    'a filter that searches quadratically',
    '{{ v | strip_html }}',
    { v: '<script'.repeat(300_000) },
  ],
  [
    'a date of a billion digits',
    "{{ 'now' | date: '%999999999Y' }}{{ 'now' | date: v }}",
    { v: '%999999999d'.repeat(1000) },
  ],
  [
    'a join of long separators',
    '{{ l | join: v }}',
    { l: Array.from({ length: 60_000 }, () => 1), v: 'x'.repeat(60_000) },
  ],
  ['an empty search', '{{ v | replace: "", v }}', { v: 'x'.repeat(60_000) }],
  ['deep nesting', `${'{% if v %}'.repeat(20_000)}x${'{% endif %}'.repeat(20_000)}`],
  ['deep brackets', `{{ ${'v['.repeat(50_000)}0${']'.repeat(50_000)} }}`],
  ['a sort of millions', slow, { v: long }],
];

describe('a costly template', () => {
  it.each(bombs)(
    '%s ends within the limit while everything else goes on',
    async (_name, bomb, data = {}) => {
      const source = `{{name}} ${bomb}`;
      const start = performance.now();
      const rendered = render(source, null, { name: 'Ada', ...data });
      const { answer, isFree } = await besides(rendered);
      expect(answer.startsWith('Ada ')).toBe(true);
      expect(answer.length).toBeLessThanOrEqual(10 * 1024 * 1024);
      // Two seconds on an idle machine; some of these would never end.
      expect(performance.now() - start).toBeLessThan(20_000);
      expect(isFree).toBe(true);
    },
  );

  it('is replaced plainly, the rest as written', async () => {
    const data = { name: '<A>', v: long };
    expect(await render(`{{name}}${slow}{{ x ?? "y" }}`, data)).toBe(`&lt;A&gt;${slow}y`);
  });

  it('does not keep other templates waiting for long', async () => {
    const source = `${slow}!`;
    let ended = 0;
    const stopped = Array.from({ length: 60 }, async () => {
      const text = await render(source, null, { v: long });
      ended += 1;
      return text;
    });
    // After a few are stopped, the others are not tried.
    expect(await render(items, { items: [{ name: 'a' }] })).toBe('<li>A</li>');
    expect(ended).toBeLessThan(5);
    expect(new Set(await Promise.all(stopped))).toEqual(new Set([source]));
  }, 120_000);
});

describe('a check before saving', () => {
  it('answers as without a thread', async () => {
    expect(await renderer.check(items)).toEqual({ ok: true });
    expect(await renderer.check('{% if x %}')).toMatchObject({ ok: false });
    expect(await renderer.check('{% for %}')).toMatchObject({ ok: false });
  });

  it('reads ten thousand tags in two megabytes while everything else goes on', async () => {
    const large = '{{a}}'.repeat(10_000) + 'x'.repeat(2_000_000);
    const { answer, isFree } = await besides(renderer.check(large));
    expect(answer).toEqual({ ok: true });
    expect(isFree).toBe(true);
  });

  it.each([
    ['more tags', '{{a}}'.repeat(10_001), /more than 10,000 tags/],
    [
      'more lines in a tag',
      `{% liquid ${'\nassign a = 1'.repeat(10_000)} %}`,
      /more than 10,000 tags/,
    ],
  ])('refuses %s than are read, within a second or so', async (_name, source, message) => {
    const start = performance.now();
    const { answer, isFree } = await besides(renderer.check(source));
    expect(answer).toEqual({ ok: false, message: expect.stringMatching(message) });
    expect(performance.now() - start).toBeLessThan(10_000);
    expect(isFree).toBe(true);
  });
});

describe('projects that share the threads', () => {
  it('take turns: a hundred costly templates of one stand before none of another', async () => {
    const lone = createRenderer({ threads: 1 });
    const ended: string[] = [];
    const costly = compileTemplate('{% for i in (1..20000) %}{{ i | times: 2 }}{% endfor %}');
    const renderFor = async (owner: string) => {
      await lone.render('html', costly, { ...variables(), owner });
      ended.push(owner);
    };
    const bad = Promise.allSettled(Array.from({ length: 100 }, () => renderFor('bad')));
    const good = [renderFor('good'), renderFor('good')];
    await Promise.all(good);
    // Before each of the few, at most one of the many goes first.
    expect(ended.length).toBeLessThanOrEqual(5);
    expect(ended.filter((owner) => owner === 'good')).toHaveLength(2);
    await lone.close();
    // Work that waits when the renderer closes is rejected, so that it can be repeated later.
    expect((await bad).at(-1)).toMatchObject({ status: 'rejected' });
  });

  it('leave a thread to the others, however long their templates take', async () => {
    const shared = createRenderer({ threads: 2 });
    const value = variables(null, { v: long });
    const quick = compileTemplate(items);
    await shared.render('html', quick, { ...variables({ items: [] }), owner: 'good' });
    let ended = 0;
    const bad = Promise.allSettled(
      Array.from({ length: 30 }, async (_, n) => {
        await shared.render('html', compileTemplate(`${slow}${n}`), { ...value, owner: 'bad' });
        ended += 1;
      }),
    );
    for (let n = 0; n < 5; n += 1) {
      const given = { ...variables({ items: [{ name: 'a' }] }), owner: 'good' };
      expect((await shared.render('html', quick, given)).text).toBe('<li>A</li>');
      expect(await shared.check('{{a}}'.repeat(2_000), 'good')).toEqual({ ok: true });
    }
    // With both threads busy, each of the ten would wait for one of them.
    expect(ended).toBeLessThan(5);
    await shared.close();
    await bad;
  });

  it('take turns at having large templates checked, too', async () => {
    const lone = createRenderer({ threads: 1 });
    const large = '{{a}}'.repeat(9_000);
    const ended: string[] = [];
    const checkFor = async (owner: string) => {
      await lone.check(large, owner);
      ended.push(owner);
    };
    const bad = Promise.allSettled(Array.from({ length: 10 }, () => checkFor('bad')));
    await checkFor('good');
    expect(ended.length).toBeLessThanOrEqual(3);
    await lone.close();
    await bad;
  });
});
