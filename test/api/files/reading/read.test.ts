import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalOf, requestOf } from '../../../../api/files/reading/requests.ts';
import type { FileIds, StoredObject } from '../../../../api/files/reading/objects.ts';
import { readFiles } from '../../../../api/files/reading/read.ts';
import { fileFormats } from '../../../../domain/files/kinds.ts';
import { objectText } from '../../../../domain/files/write.ts';

const id = (n: number) => `7e100000-0000-4000-8000-00000000000${n}`;

const ids: FileIds = {
  templates: new Map([['welcome', id(1)]]),
  segments: new Map([['pro', id(2)]]),
  topics: new Map([['news', id(3)]]),
};

function problemsIn(files: Record<string, string>, variables: Record<string, string> = {}) {
  return readFiles(files, variables).problems.map(
    ({ path, place, line, column, code }) => `${path}#${place} ${line}:${column} ${code}`,
  );
}

/** Reads one file that has no problem. */
function readOne(path: string, text: string, variables: Record<string, string> = {}) {
  const { objects, problems } = readFiles({ [path]: text }, variables);
  expect(problems).toEqual([]);
  return objects[0]!;
}

/** Returns the file that is written for what was read. */
function rewritten(path: string, text: string, stored: StoredObject | null = null): string {
  const object = readOne(path, text);
  const format = path.endsWith('.json') ? 'json' : 'yaml';
  return objectText(object.kind, canonicalOf(object, stored), format);
}

const topic = 'name: News\nvisibility: public\ndefault: subscribed\n';
const segment =
  'name: Pro users\ntype: DYNAMIC\ntrackMembership: true\nfilters:\n  operator: AND\n  conditions:\n' +
  '    - field: data.plan\n      operator: equals\n      value: pro\n' +
  '    - field: segment.active\n      operator: memberOfSegment\n' +
  '    - field: template.welcome.opened\n      operator: triggered\n';
const template =
  '---\nname: Welcome\nsubject: Hi {{name}}\ntype: MARKETING\nfrom: team@shop.example\n' +
  'fromName: The Shop\ntopic: news\n---\n<p>Hi</p>\n---\n${NOT_A_VARIABLE}\r\n';

describe('a file', () => {
  it.each([
    ['topics/news.yaml', topic],
    [
      'topics/news.json',
      '{\n  "name": "News",\n  "visibility": "private",\n  "default": "subscribed"\n}\n',
    ],
    ['segments/pro.yaml', segment],
    ['segments/vip.yaml', 'name: VIP\ndescription: By hand\ntype: STATIC\n'],
    ['templates/welcome.html', template],
  ])('is written as it was read: %s', (path, text) => {
    expect(rewritten(path, text)).toBe(text);
  });

  it('means the same in another notation', () => {
    const plain = '{name: " News ", visibility: public, "default": subscribed} # comment';
    expect(rewritten('topics/news.yaml', plain)).toBe(topic);
    const nested =
      'name: Pro users\ntrackMembership: true\ncondition:\n  logic: AND\n  groups:\n  - filters:\n' +
      '    - {field: plan, operator: equals, value: pro}\n' +
      '    - {field: segment.active, operator: memberOfSegment}\n' +
      '    - {field: template.welcome.opened, operator: triggered}\n';
    expect(rewritten('segments/pro.yaml', nested)).toBe(segment);
    const sender = template
      .replace('from: team@shop.example\nfromName: The Shop', 'from: The Shop <Team@shop.example>')
      .replaceAll(/^---\n/gm, '---\r\n');
    expect(rewritten('templates/welcome.liquid', sender)).toBe(
      template.replace('\n---\n${', '\n---\r\n${'),
    );
  });

  it('keeps every text, in YAML and in JSON', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.string({
        unit: fc.constantFrom(...Array.from('$${}:#-\n\t "\'|>&*!%@`é😀0.x')),
        maxLength: 60,
      }),
    );
    fc.assert(
      fc.property(text, fc.constantFrom(...fileFormats), (description, format) => {
        const value = { name: 'News', description, visibility: 'public', default: 'subscribed' };
        const written = objectText('topic', value, format);
        const { objects, problems } = readFiles({ [`topics/news.${format}`]: written }, {});
        expect(problems).toEqual([]);
        expect(canonicalOf(objects[0]!, null)).toEqual(value);
      }),
      { numRuns: 500, examples: [[' \n', 'yaml']] },
    );
  });

  it('of a template keeps a line separator in its front matter', () => {
    for (const separator of ['\u2028', '\u2029', '\r']) {
      const description = `One${separator}---\nTwo`;
      const value = { name: 'A', subject: 'B', type: 'HEADLESS', description, body: 'Hi' };
      const written = objectText('template', value, 'yaml');
      expect(canonicalOf(readOne('templates/a.html', written), null)).toEqual(value);
    }
  });

  it('keeps the empty value of a masked header', () => {
    const text = 'url: https://a.example/\nevents: [order.*]\nheaders: {X-Token: •••}\n';
    const object = readOne('subscriptions/a.yaml', text);
    const stored = { value: {}, hidden: new Map([['headers.X-Token', '']]) };
    expect(requestOf(object, ids, stored)).toMatchObject({
      request: { body: { headers: { 'X-Token': '' } } },
    });
  });

  it('gives the body that a client would send, with ids in place of keys', () => {
    const request = requestOf(readOne('templates/welcome.html', template), ids, null);
    expect(request).toEqual({
      request: {
        kind: 'template',
        body: {
          name: 'Welcome',
          subject: 'Hi {{name}}',
          type: 'MARKETING',
          description: null,
          from: { email: 'team@shop.example', name: null },
          fromName: 'The Shop',
          replyTo: null,
          topicId: id(3),
          body: '<p>Hi</p>\n---\n${NOT_A_VARIABLE}\r\n',
        },
      },
    });
  });

  it('may refer only to files and stored objects', () => {
    const { problems } = requestOf(readOne('segments/pro.yaml', segment), ids, null) as {
      problems: object[];
    };
    expect(problems).toMatchObject([
      { place: 'filters.conditions.1.field', line: 10, column: 7, code: 'not_found' },
    ]);
  });

  it('cannot change what never changes', () => {
    const stored = { value: { default: 'unsubscribed' }, hidden: new Map() };
    expect(requestOf(readOne('topics/news.yaml', topic), ids, stored)).toMatchObject({
      problems: [{ place: 'default', line: 3, column: 1, code: 'not_allowed' }],
    });
  });
});

describe('the problems of files', () => {
  it('are reported together, with their places', () => {
    expect(
      problemsIn({
        'templates/welcome.html': template.replace('<p>Hi</p>', '<p>\n{% iff %}'),
        'topics/news.yaml': topic.replace('visibility', 'visiblity'),
        'segments/pro.yaml': segment.replace('trackMembership: true', 'trackMembership: 1'),
        'segments/none.yaml': '',
      }),
    ).toEqual([
      'templates/welcome.html#body 10:1 invalid_template',
      'topics/news.yaml#visiblity 2:1 unknown_field',
      'segments/pro.yaml#trackMembership 3:1 invalid_type',
      'segments/none.yaml#null null:null invalid_type',
    ]);
    const [problem] = readFiles({ 'topics/news.yaml': `${topic}nam: x\n` }, {}).problems;
    expect(problem?.message).toContain('Did you mean "name"?');
  });

  it.each([
    ['an anchor', 'name: &a News\n', '1:7'],
    ['an alias', 'name: *a\n', '1:7'],
    ['a tag', 'name: !!str News\n', '1:7'],
    ['a merge key', '<<: {name: News}\n', '1:1'],
    ['a key twice', 'name: News\nname: News\n', '2:1'],
    ['a directive', '%YAML 1.1\n---\nname: News\n', '1:1'],
    ['two documents', 'name: News\n---\nname: News\n', '2:1'],
    ['a key that is a list', '? [a]\n: b\n', '1:3'],
    ['a number without end', 'name: .inf\n', '1:7'],
    ['a syntax error', 'name: "News\n', '2:1'],
  ])('name %s', (_, text, position) => {
    const code = 'invalid_string';
    expect(problemsIn({ 'topics/news.yaml': text })[0]).toMatch(
      new RegExp(`^topics/news.yaml#\\S+ ${position} ${code}$`),
    );
  });

  it('name words of YAML 1.1 nowhere: they are texts', () => {
    const { value } = readOne(
      'topics/news.yaml',
      'name: yes\ndescription: 2026-01-01\ndefault: subscribed',
    );
    expect(value).toMatchObject({ name: 'yes', description: '2026-01-01' });
  });

  it('are found in time in a file that is made to be slow', () => {
    const bomb = [
      'a0: &a0 [x, x]',
      ...Array.from({ length: 40 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`),
    ];
    const started = Date.now();
    expect(problemsIn({ 'topics/bomb.yaml': bomb.join('\n') })[0]).toMatch(/invalid_string$/);
    for (const text of [
      `name: ${'['.repeat(100)}${']'.repeat(100)}`,
      `name:\n  ${'- '.repeat(100_000)}x`,
      `name: ${'{a: '.repeat(100_000)}`,
      Array.from({ length: 100 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'),
      `"name": ${'['.repeat(100_000)}`,
    ]) {
      expect(problemsIn({ 'topics/deep.yaml': text })[0]).toMatch(/ invalid_string$/);
    }
    expect(Date.now() - started).toBeLessThan(1_000);
  });

  it('allow 50 levels', () => {
    const nested = (levels: number) => `name: ${'['.repeat(levels)}${']'.repeat(levels)}\n`;
    expect(problemsIn({ 'topics/news.yaml': nested(49) })).not.toContainEqual(
      expect.stringContaining('invalid_string'),
    );
    expect(problemsIn({ 'topics/news.yaml': nested(50) })[0]).toContain('invalid_string');
  });

  it('have short places, however long the keys are', () => {
    const key = 'x'.repeat(100_000);
    const values = (value: (n: number) => string) =>
      `{${Array.from({ length: 2_000 }, (_, n) => value(n)).join(', ')}}`;
    const { objects, problems } = readFiles(
      {
        'segments/a.json': `{"${key}": ${values(() => '"a": 1')}}`,
        'segments/b.yaml': `{"${key}": ${values((n) => `a${n}: "\${X}"`)}}`,
        'segments/c.yaml': `condition: {"${key}": ${values((n) => `a${n}: {field: segment.a}`)}}`,
        'workflows/d.yaml': `steps: [{key: "${key}", type: DELAY, config: ${values((n) => `a${n}: 1`)}}]`,
      },
      {},
    );
    const missing = objects.flatMap((object) => {
      const made = requestOf(object, ids, null);
      return 'problems' in made ? made.problems : [];
    });
    const places = [
      ...[...problems, ...missing].map(({ place }) => place ?? ''),
      ...objects.flatMap((object) => [...object.places.keys()]),
    ];
    expect(places).toContain(`condition.${'x'.repeat(489)}…`);
    expect(Math.max(...places.map(({ length }) => length))).toBe(500);
  });

  it('are found at a key of many dots', () => {
    const text = `{"${'.'.repeat(100_000)}": 1}`;
    const object = readFiles({ 'topics/news.json': text }, {}).objects[0]!;
    expect(object.placeOf('.'.repeat(20_000))).toEqual({ line: 1, column: 1 });
    expect(requestOf(object, ids, null)).toMatchObject({
      problems: expect.arrayContaining([expect.objectContaining({ code: 'unknown_field' })]),
    });
  });

  it.each([
    '../x.yaml',
    'workflow/x.yaml',
    'templates/x.txt',
    'topics/X.yaml',
    'topics/a/b.yaml',
    'policies/x.yaml',
    '/topics/x.yaml',
    'topics/x.yml',
  ])('name the path %s, which no file has', (path) => {
    expect(problemsIn({ [path]: topic })).toEqual([`${path}#null null:null unknown_field`]);
  });

  it('name a template without front matter, and two files of one object', () => {
    expect(problemsIn({ 'templates/a.html': '<p>Hi</p>' })).toEqual([
      'templates/a.html#null null:null required',
    ]);
    expect(
      problemsIn({ 'topics/a.yaml': topic, 'topics/a.json': JSON.stringify({ name: 'A' }) }),
    ).toEqual(['topics/a.json#null null:null custom']);
  });

  it('are none in files of the command line', () => {
    expect(readFiles({ 'everpost.yaml': '&', 'a/b/x.journey.yaml': '*' }, {})).toEqual({
      objects: [],
      problems: [],
    });
  });
});

describe('variables', () => {
  const sender = template.replace('team@shop.example', '${SENDER}');

  it('are replaced in texts, but not in a body', () => {
    const object = readOne('templates/welcome.html', sender, { SENDER: 'a@shop.example' });
    expect(object.value).toMatchObject({
      from: 'a@shop.example',
      body: expect.stringContaining('${NOT_A_VARIABLE}'),
    });
  });

  it('must be given', () => {
    expect(problemsIn({ 'templates/welcome.html': sender })).toContain(
      'templates/welcome.html#from 5:1 not_found',
    );
  });

  it('are escaped by $${', () => {
    for (const [written, meant] of [
      ['$${X}', '${X}'],
      ['$$${X}', '$${X}'],
      ['${lower} ${', '${lower} ${'],
      ['${X}$${X}', 'x${X}'],
    ] as const) {
      const { value } = readOne(
        'topics/news.yaml',
        topic.replace('News', () => written),
        { X: 'x' },
      );
      expect(value['name']).toBe(meant);
    }
    expect(
      rewritten(
        'topics/news.yaml',
        topic.replace('News', () => '$${X}'),
      ),
    ).toContain('$${X}');
  });

  it('cannot make a file huge', () => {
    const text = topic.replace('News', '${X}'.repeat(10_000));
    expect(problemsIn({ 'topics/news.yaml': text }, { X: 'x'.repeat(4_096) })).toContain(
      'topics/news.yaml#name 1:1 too_big',
    );
  });
});

describe('renamedFrom', () => {
  const file = (former: string) => `renamedFrom: ${former}\nname: VIP\ntype: STATIC\n`;
  const formerOf = (files: Record<string, string>) =>
    readFiles(files, {}).objects.map(({ key, renamedFrom }) => [key, renamedFrom]);

  it('names the former key', () => {
    expect(formerOf({ 'segments/b.yaml': file('a') })).toEqual([['b', 'a']]);
  });

  it('is ignored if the other object has its own file', () => {
    expect(formerOf({ 'segments/b.yaml': file('a'), 'segments/a.yaml': file('c') })).toEqual([
      ['b', null],
      ['a', 'c'],
    ]);
  });

  it('is refused twice, in a topic, and if it is no key', () => {
    expect(
      problemsIn({
        'segments/b.yaml': file('a'),
        'segments/c.yaml': file('a'),
        'segments/d.yaml': file('No Key'),
        'topics/news.yaml': `${topic}renamedFrom: old\n`,
      }),
    ).toEqual([
      'segments/d.yaml#renamedFrom 1:1 invalid_string',
      'topics/news.yaml#renamedFrom 4:1 not_allowed',
      'segments/c.yaml#renamedFrom 1:1 custom',
    ]);
  });
});
