import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { lockPlans } from '../../../db/files/plans.ts';
import { codeOf, type TestAnswer, useApi } from '../../support/api.ts';
import { type FileShop, openFileShop } from '../../support/projects/file-shop.ts';

const api = await useApi();

let shop: FileShop;

beforeEach(async () => {
  shop = await openFileShop(api);
});

const template = (more: object = {}) => ({
  name: 'Welcome',
  subject: 'Hi',
  body: '<p>Hi {{name}}</p>',
  type: 'HEADLESS',
  ...more,
});

const welcome = '---\nname: Welcome\nsubject: Hi\ntype: TRANSACTIONAL\n---\n<p>Hi</p>';
const news = 'name: News\nvisibility: public\ndefault: subscribed\n';

/** The file of a segment of the contacts in another segment. */
const within = (key: string) =>
  `name: Some\ntype: DYNAMIC\ncondition:\n  logic: AND\n  groups:\n    - filters:\n        - {field: segment.${key}, operator: memberOfSegment}\n`;

/** The parts of a change that tests compare. */
const shown = ({ changes }: TestAnswer['body']) =>
  (changes as { action: string; kind: string; key: string }[]).map(
    ({ action, kind, key }) => `${action} ${kind}/${key}`,
  );

describe('a plan', () => {
  it('creates what the project does not have, and changes nothing itself', async () => {
    const requested = () =>
      sql`select run_id from outbox where project_id = ${shop.id}`.execute(api.db);
    const before = [(await requested()).rows, api.dispatched.length];
    const plan = await shop.plan({ 'topics/news.yaml': news, 'templates/welcome.html': welcome });
    expect([(await requested()).rows, api.dispatched.length]).toEqual(before);
    expect(plan).toMatchObject({
      project: { id: shop.id, name: 'Shop' },
      state: 'open',
      createdBy: { type: 'key', id: 'secret', name: 'Secret key' },
      appliedAt: null,
      appliedBy: null,
      migrate: null,
      note: null,
      result: null,
      summary: { create: 2, update: 0, delete: 0, unchanged: 0, blocked: 0, unmanaged: 0 },
      warnings: [],
    });
    expect(shown(plan)).toEqual(['create template/welcome', 'create topic/news']);
    expect(plan.changes[1]).toEqual({
      action: 'create',
      kind: 'topic',
      key: 'news',
      id: null,
      name: 'News',
      path: 'topics/news.yaml',
      fields: [
        { at: 'name', before: null, after: 'News' },
        { at: 'visibility', before: null, after: 'public' },
        { at: 'default', before: null, after: 'subscribed' },
      ],
      fieldCount: 3,
      newVersion: null,
      people: null,
      usedBy: [],
      blocked: null,
    });
    expect((await shop.files()).objects).toEqual([]);
    expect(Date.parse(plan.expiresAt) - Date.parse(plan.createdAt)).toBe(7 * 86_400_000);
  });

  it('finds no difference in the files of the project, and counts objects without a file', async () => {
    const topicId = await shop.make('/topics', {
      key: 'news',
      name: 'News',
      default: 'subscribed',
    });
    await shop.make('/templates', template({ type: 'MARKETING', topicId }));
    await shop.make('/templates', template({ name: 'Other' }));
    await shop.make('/segments', { name: 'Friends', type: 'STATIC' });
    const { files } = await shop.files();
    expect((await shop.plan(files)).summary).toEqual({
      create: 0,
      update: 0,
      delete: 0,
      unchanged: 4,
      blocked: 0,
      unmanaged: 0,
    });
    const { 'templates/other.html': _, ...fewer } = files;
    expect((await shop.plan(fewer)).summary).toMatchObject({ unchanged: 3, unmanaged: 1 });
    const inJson = await shop.files('?format=json');
    expect(await shop.plan(inJson.files)).toMatchObject({ changes: [], summary: { unchanged: 4 } });
  });

  it('shows the fields that differ', async () => {
    const id = await shop.make('/templates', template());
    const { files } = await shop.files();
    const changed = files['templates/welcome.html']!.replace('subject: Hi', 'subject: Hello');
    const plan = await shop.plan({ 'templates/welcome.html': `${changed}!` });
    expect(plan.changes).toMatchObject([
      {
        action: 'update',
        kind: 'template',
        key: 'welcome',
        id,
        fields: [
          { at: 'subject', before: 'Hi', after: 'Hello' },
          { at: 'body', before: '<p>Hi {{name}}</p>', after: '<p>Hi {{name}}</p>!' },
        ],
        fieldCount: 2,
      },
    ]);
    expect(plan.summary).toMatchObject({ update: 1, unchanged: 0 });
  });

  it('keeps the object when its name changes, or its key by renamedFrom', async () => {
    const id = await shop.make('/templates', template());
    const renamed = welcome.replace('name: Welcome', 'name: Hello');
    expect((await shop.plan({ 'templates/welcome.html': renamed })).changes).toMatchObject([
      { action: 'update', id, name: 'Hello' },
    ]);
    const moved = welcome.replace('---\n', '---\nrenamedFrom: welcome\n');
    expect((await shop.plan({ 'templates/hello.html': moved })).changes).toMatchObject([
      { action: 'update', id, key: 'hello', path: 'templates/hello.html' },
    ]);
    const other = await shop.plan({ 'templates/hello.html': welcome });
    expect(shown(other)).toEqual(['create template/hello']);
    expect(other.summary).toMatchObject({ create: 1, unmanaged: 1 });
  });

  it('refuses the former key of a renamed object', async () => {
    await shop.make('/segments', { name: 'Friends', type: 'STATIC' });
    const renamed = { 'segments/pals.yaml': 'renamedFrom: friends\nname: Pals\ntype: STATIC\n' };
    expect(await shop.refused({ ...renamed, 'segments/some.yaml': within('friends') })).toEqual([
      ['files.segments/some.yaml#condition.groups.0.filters.0.field', 'not_found'],
    ]);
    const plan = await shop.plan({ ...renamed, 'segments/some.yaml': within('pals') });
    expect(shown(plan)).toEqual(['update segment/pals', 'create segment/some']);
  });

  it('deletes nothing without prune, and nothing that is protected', async () => {
    await shop.make('/templates', template());
    await shop.make('/templates', template({ name: 'Old' }));
    expect((await shop.plan({})).changes).toEqual([]);
    const all = await shop.plan({}, { prune: ['template/*'] });
    expect(shown(all)).toEqual(['delete template/old', 'delete template/welcome']);
    expect(all.changes[0]).toMatchObject({ path: null, fields: [], people: null, blocked: null });
    const some = await shop.plan({}, { prune: ['template/*'], protect: ['template/wel*'] });
    expect(shown(some)).toEqual(['delete template/old']);
    expect(some.summary).toMatchObject({ delete: 1, unmanaged: 1 });
    expect((await shop.files()).objects).toHaveLength(2);
  });

  it('names what uses a changed object, and blocks its deletion', async () => {
    const topicId = await shop.make('/topics', {
      key: 'news',
      name: 'News',
      default: 'subscribed',
    });
    await shop.make('/templates', template({ type: 'MARKETING', topicId }));
    const changed = news.replace('name: News', 'name: Daily news');
    const plan = await shop.plan({ 'topics/news.yaml': changed });
    expect(plan.changes[0].usedBy).toEqual([{ kind: 'template', key: 'welcome', active: 0 }]);
    const blocked = await shop.plan({}, { prune: ['topic/*'] });
    expect(blocked.summary).toMatchObject({ delete: 1, blocked: 1 });
    expect(blocked.changes[0].blocked).toMatchObject({
      code: 'TOPIC_IN_USE',
      details: { templates: [{ name: 'Welcome' }] },
    });
    const both = await shop.plan({}, { prune: ['topic/*', 'template/*'] });
    expect(both.summary).toMatchObject({ delete: 2, blocked: 0 });
  });

  it('finds the new objects that its files name', async () => {
    const mail = welcome.replace('TRANSACTIONAL', 'MARKETING\ntopic: news');
    const plan = await shop.plan({ 'templates/welcome.html': mail, 'topics/news.yaml': news });
    expect(plan.changes[1]).toMatchObject({
      key: 'news',
      usedBy: [{ kind: 'template', key: 'welcome' }],
    });
    expect(await shop.refused({ 'templates/welcome.html': mail })).toEqual([
      ['files.templates/welcome.html#topic', 'not_found'],
    ]);
  });

  it('replaces variables', async () => {
    const file = { 'topics/news.yaml': news.replace('News', '${NAME}') };
    const plan = await shop.plan(file, { variables: { NAME: 'Daily' } });
    expect(plan.changes[0].name).toBe('Daily');
    expect(await shop.refused(file)).toEqual([['files.topics/news.yaml#name', 'not_found']]);
  });
});

describe('the problems of files', () => {
  it('come all together, with their positions', async () => {
    const { status, body } = await shop.call('POST', '/plan', {
      files: {
        'templates/broken.html': welcome.replace('<p>Hi</p>', '<p>Hi</p>\n{% if %}'),
        'topics/news.yaml': `${news}colour: red\n`,
        'segments/friends.yaml': within('pals'),
      },
    });
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.error.errors).toMatchObject([
      {
        field: 'files.templates/broken.html#body',
        code: 'invalid_template',
        line: 7,
        column: expect.any(Number),
      },
      { field: 'files.topics/news.yaml#colour', code: 'unknown_field', line: 4, column: 1 },
      {
        field: 'files.segments/friends.yaml#condition.groups.0.filters.0.field',
        code: 'not_found',
        line: 7,
      },
    ]);
    expect((await shop.call('GET', '/plans')).body.data).toEqual([]);
  });

  it('include the rules of the own endpoint that only stored data tell', async () => {
    expect(
      await shop.refused({
        'templates/welcome.html': welcome.replace('---\n', '---\nfrom: team@foreign.example\n'),
        'segments/one.yaml': within('two'),
        'segments/two.yaml': within('one'),
      }),
    ).toEqual(
      expect.arrayContaining([
        ['files.templates/welcome.html#from', 'not_allowed'],
        ['files.segments/one.yaml#condition.groups.0.filters.0.field', 'circular_reference'],
      ]),
    );
  });

  it('are also those that depend on an object with problems, later', async () => {
    const mail = welcome.replace('TRANSACTIONAL', 'MARKETING\ntopic: news');
    expect(
      await shop.refused({
        'topics/news.yaml': news.replace('News', '""'),
        'templates/welcome.html': mail,
        'templates/other.html': welcome.replace('---\n', '---\nfrom: team@foreign.example\n'),
      }),
    ).toEqual([
      ['files.topics/news.yaml#name', 'too_small'],
      ['files.templates/other.html#from', 'not_allowed'],
    ]);
  });

  it('are a type or a default that changes', async () => {
    await shop.make('/topics', { key: 'news', name: 'News', default: 'subscribed' });
    await shop.make('/segments', { name: 'Friends', type: 'STATIC' });
    expect(
      await shop.refused({
        'topics/news.yaml': news.replace('subscribed', 'unsubscribed'),
        'segments/friends.yaml': within('friends'),
      }),
    ).toEqual([
      ['files.segments/friends.yaml#type', 'not_allowed'],
      ['files.topics/news.yaml#default', 'not_allowed'],
    ]);
  });
});

describe('a request for a plan', () => {
  it('is refused with wrong patterns, names and numbers, all at once', async () => {
    const { body } = await shop.call('POST', '/plan', {
      files: { 'topics/news.yaml': 5 },
      variables: { lower: 'x', LONG: 'x'.repeat(4097) },
      prune: ['nothing/*'],
      protect: ['template'],
      examples: 51,
    });
    expect(body.error.errors.map((one: { field: string }) => one.field).toSorted()).toEqual([
      'examples',
      'files.topics/news.yaml',
      'protect.0',
      'prune.0',
      'variables.LONG',
      'variables.lower',
    ]);
  });

  it('has at most 500 files and 20 MB', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`topics/t${index}.yaml`, news]),
    );
    expect(await shop.refused(many)).toEqual([['files', 'too_big']]);
    const large = await shop.call('POST', '/plan', { files: { 'x.yaml': 'x'.repeat(21 << 20) } });
    expect(codeOf(large)).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it('is for secret keys and administrators', async () => {
    const { body } = await shop.call('POST', '/plan', { files: {} });
    const member = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ project_id: shop.id, user_id: member.userId, role: 'MEMBER' })
      .execute();
    const asMember = { cookie: member.cookie, headers: { 'X-Project-Id': shop.id } };
    const asOwner = { cookie: shop.cookie, headers: { 'X-Project-Id': shop.id } };
    for (const [method, path, more] of [
      ['POST', '/plan', { body: { files: {} } }],
      ['GET', '/plans', {}],
      ['GET', `/plans/${body.id}`, {}],
    ] as const) {
      const send = (who: object) => api.request(method, path, { ...more, ...who });
      expect(codeOf(await send(asMember))).toEqual([403, 'INSUFFICIENT_ROLE']);
      expect(codeOf(await send({ key: shop.publicKey }))).toEqual([401, 'INVALID_API_KEY']);
      expect((await send(asOwner)).status).toBe(200);
    }
  });

  it('is refused in a disabled project', async () => {
    await sql`update project set disabled_reason = 'MANUAL' where id = ${shop.id}`.execute(api.db);
    expect(codeOf(await shop.call('POST', '/plan', { files: {} }))).toEqual([
      403,
      'PROJECT_DISABLED',
    ]);
    expect((await shop.call('GET', '/plans')).status).toBe(200);
  });

  it('waits for another plan of the project', async () => {
    let ended = false;
    const waiting = await transact(api.db, async (tx) => {
      await lockPlans(tx, shop.id);
      const plan = shop.plan({}).then((made) => ((ended = true), made));
      const other = await openFileShop(api);
      await other.plan({ 'topics/news.yaml': news });
      expect(ended).toBe(false);
      return { plan };
    });
    expect(await waiting.plan).toMatchObject({ state: 'open' });
  });
});

describe('the plans of a project', () => {
  it('are listed newest first without changes, the last ten of the open ones', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 11; index += 1) {
      ids.push((await shop.plan({ 'topics/news.yaml': news })).id);
    }
    const { body } = await shop.call('GET', '/plans?limit=6');
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual(ids.slice(5).toReversed());
    expect([body.total, body.hasMore]).toEqual([10, true]);
    expect(Object.keys(body.data[0])).not.toContain('changes');
    expect(Object.keys(body.data[0])).not.toContain('warnings');
    const next = await shop.call('GET', `/plans?limit=6&cursor=${body.cursor}`);
    expect(next.body.data.map(({ id }: { id: string }) => id)).toEqual(
      ids.slice(1, 5).toReversed(),
    );
    expect(codeOf(await shop.call('GET', `/plans/${ids[0]}`))).toEqual([404, 'PLAN_NOT_FOUND']);
    expect((await shop.call('GET', '/plans?state=applied')).body).toMatchObject({
      data: [],
      total: 0,
    });
    expect((await shop.call('GET', '/plans?state=closed')).status).toBe(422);
  });

  it('can be read again, but not by other projects', async () => {
    const plan = await shop.plan({ 'topics/news.yaml': news });
    expect((await shop.call('GET', `/plans/${plan.id}`)).body).toEqual(plan);
    const other = await openFileShop(api);
    expect(codeOf(await other.call('GET', `/plans/${plan.id}`))).toEqual([404, 'PLAN_NOT_FOUND']);
  });
});
