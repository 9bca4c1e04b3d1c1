import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { lockPlans } from '../../../db/files/plans.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { type FileShop, openFileShop } from '../../support/projects/file-shop.ts';

const api = await useApi();
// An API whose statements wait at most a second.
const hasty = await useApi({ DATABASE_STATEMENT_TIMEOUT_MS: '1000' });

let shop: FileShop;

beforeEach(async () => {
  shop = await openFileShop(api);
});

const template = (name = 'Welcome', more = '') =>
  `---\nname: ${name}\nsubject: Hi\ntype: MARKETING\n${more}---\n<p>Hi</p>`;
const topic = (name = 'News') => `name: ${name}\nvisibility: private\ndefault: subscribed\n`;
const segment = 'name: Friends\ntype: STATIC\n';
const workflow = (template: string, name = 'Onboarding') => `name: ${name}
trigger: {type: MANUAL}
steps:
  - {key: welcome, type: SEND_EMAIL, name: Welcome, template: ${template}, config: {}}
transitions:
  - {from: trigger, to: welcome}
`;

const apply = (planId: string, more: object = {}) =>
  shop.call('POST', '/apply', { planId, ...more });

/** Applies files, which must succeed. Returns the ids of the changed objects by `kind/key`. */
async function applied(files: Record<string, string>): Promise<Record<string, string>> {
  const { id } = await shop.plan(files);
  const { status, body } = await apply(id);
  expect([status, body.error]).toEqual([200, undefined]);
  return Object.fromEntries(
    body.result.objects.map((one: { kind: string; key: string; id: string }) => [
      `${one.kind}/${one.key}`,
      one.id,
    ]),
  );
}

describe('a plan', () => {
  it('is stale while an object of its files is another, and no longer once it is as before', async () => {
    const ids = await applied({ 'templates/welcome.html': template() });
    const path = `/templates/${ids['template/welcome']}`;
    const { id } = await shop.plan({ 'templates/welcome.html': template('Hello') });
    await shop.call('PATCH', path, { subject: 'Changed' });
    const stale = await apply(id);
    expect(codeOf(stale)).toEqual([409, 'PLAN_STALE']);
    expect(stale.body.error.details).toEqual({ changed: [{ kind: 'template', key: 'welcome' }] });
    expect((await shop.call('GET', path)).body).toMatchObject({ name: 'Welcome' });
    expect((await shop.call('GET', `/plans/${id}`)).body.state).toBe('open');
    await shop.call('PATCH', path, { subject: 'Hi' });
    expect(codeOf(await apply(id))).toEqual([200, undefined]);
    expect((await shop.call('GET', path)).body).toMatchObject({ name: 'Hello', subject: 'Hi' });
  });

  it('is stale after a change of what its files name or delete, or of what they would create', async () => {
    const ids = await applied({
      'templates/welcome.html': template(),
      'templates/old.html': template(),
      'segments/friends.yaml': segment,
    });
    const staleAfter = async (
      change: () => Promise<unknown>,
      files: Record<string, string>,
      more = {},
    ) => {
      const { id } = await shop.plan(files, more);
      await change();
      const answer = await apply(id);
      expect(codeOf(answer)).toEqual([409, 'PLAN_STALE']);
      return answer.body.error.details.changed;
    };
    const named = { 'workflows/a.yaml': workflow('welcome') };
    const change = () =>
      shop.call('PATCH', `/templates/${ids['template/welcome']}`, { subject: 'Changed' });
    expect(await staleAfter(change, named)).toEqual([{ kind: 'template', key: 'welcome' }]);
    const remove = () => shop.call('DELETE', `/templates/${ids['template/old']}`);
    expect(await staleAfter(remove, {}, { prune: ['template/old'] })).toEqual([
      { kind: 'template', key: 'old' },
    ]);
    const create = () => shop.make('/topics', { key: 'news', name: 'N', default: 'subscribed' });
    expect(await staleAfter(create, { 'topics/news.yaml': topic() })).toEqual([
      { kind: 'topic', key: 'news' },
    ]);
    // A template that was created with the name gets its key, and is another object.
    const rival = async () => {
      await shop.make('/templates', { name: 'New', subject: 'S', body: 'B', type: 'HEADLESS' });
      await shop.files();
    };
    expect(await staleAfter(rival, { 'templates/new.html': template() })).toEqual([
      { kind: 'template', key: 'new' },
    ]);
  });

  it('is stale when the domain of a sender is gone', async () => {
    const domain = { project_id: shop.id, name: 'gone.example', status: 'verified' };
    await api.db
      .insertInto('domain')
      .values({ ...domain, dkim_tokens: [] })
      .execute();
    const { id } = await shop.plan({
      'templates/welcome.html': template('Welcome', 'from: a@gone.example\n'),
    });
    await api.db.deleteFrom('domain').where('project_id', '=', shop.id).execute();
    const { status, body } = await apply(id);
    expect([status, body.error.details]).toEqual([
      409,
      { changed: [{ kind: 'template', key: 'welcome' }] },
    ]);
  });

  it('is not stale after changes of contacts, events, members and other objects', async () => {
    const ids = await applied({
      'segments/friends.yaml': segment,
      'templates/welcome.html': template(),
      'templates/other.html': template(),
      'workflows/a.yaml': workflow('welcome'),
    });
    const files = {
      'workflows/a.yaml': workflow('welcome', 'Changed'),
      'segments/friends.yaml': segment,
    };
    const { id } = await shop.plan(files);
    await shop.make('/contacts', { email: 'ada@people.test' });
    await shop.call('POST', '/v1/track', { email: 'ada@people.test', event: 'paid' });
    await shop.call('POST', `/segments/${ids['segment/friends']}/members`, {
      emails: ['ada@people.test'],
    });
    await shop.call('PATCH', `/workflows/${ids['workflow/a']}`, { paused: true });
    await shop.call('PATCH', `/templates/${ids['template/other']}`, { subject: 'Changed' });
    expect(codeOf(await apply(id))).toEqual([200, undefined]);
  });

  it('applied ten times at once is applied once', async () => {
    const ids = await applied({
      'workflows/a.yaml': workflow('welcome'),
      'templates/welcome.html': template(),
    });
    const changed = workflow('welcome')
      .replace('key: welcome, type', 'key: hello, type')
      .replace('to: welcome', 'to: hello');
    const { id } = await shop.plan({ 'workflows/a.yaml': changed });
    const answers = await Promise.all(Array.from({ length: 10 }, () => apply(id)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body);
    const { body } = await shop.call('GET', `/workflows/${ids['workflow/a']}`);
    expect(body.version).toBe(2);
    const log = await shop.call('GET', '/plans?state=applied');
    expect(log.body.data.map((plan: { id: string }) => plan.id).slice(0, 1)).toEqual([id]);
    expect(log.body.total).toBe(2);
    const { rows } = await sql`select from security_event
      where project_id = ${shop.id} and event = 'files.applied'`.execute(api.db);
    expect(rows).toHaveLength(2);
  });

  it('is stale if another plan of the same object is applied at the same time', async () => {
    await applied({ 'topics/news.yaml': topic() });
    const plans = await Promise.all(
      ['One', 'Two'].map((name) => shop.plan({ 'topics/news.yaml': topic(name) })),
    );
    const answers = await Promise.all(plans.map(({ id }) => apply(id)));
    const codes = answers.map(({ status, body }) => body.error?.code ?? status);
    expect(codes.toSorted()).toEqual([200, 'PLAN_STALE']);
    const winner = answers.findIndex(({ status }) => status === 200);
    const { body } = await shop.call('GET', '/topics');
    expect(body[0].name).toBe(['One', 'Two'][winner]);
  });

  it('answers 503 after waiting too long for another one, and does nothing', async () => {
    shop = await openFileShop(hasty);
    const { id } = await shop.plan({ 'topics/news.yaml': topic() });
    const answer = await transact(hasty.db, async (tx) => {
      await sql`set local statement_timeout = 0`.execute(tx);
      await lockPlans(tx, shop.id);
      return apply(id);
    });
    expect(codeOf(answer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect((await shop.call('GET', '/topics')).body).toEqual([]);
    expect(codeOf(await apply(id))).toEqual([200, undefined]);
  });

  it('is refused in a disabled project, and to members', async () => {
    const { id } = await shop.plan({ 'topics/news.yaml': topic() });
    const { rows } = await sql<{ user_id: string }>`select user_id from membership
      where project_id = ${shop.id}`.execute(api.db);
    await sql`update membership set role = 'MEMBER' where project_id = ${shop.id}`.execute(api.db);
    expect(rows).toHaveLength(1);
    const member = await api.request('POST', '/apply', {
      cookie: shop.cookie,
      headers: { 'X-Project-Id': shop.id },
      body: { planId: id },
    });
    expect(codeOf(member)).toEqual([403, 'INSUFFICIENT_ROLE']);
    await sql`update project set disabled_reason = 'MANUAL' where id = ${shop.id}`.execute(api.db);
    expect(codeOf(await apply(id))).toEqual([403, 'PROJECT_DISABLED']);
    expect((await shop.call('GET', '/topics')).body).toEqual([]);
  });

  it('of another project does not exist', async () => {
    const { id } = await shop.plan({ 'topics/news.yaml': topic() });
    shop = await openFileShop(api);
    expect(codeOf(await apply(id))).toEqual([404, 'PLAN_NOT_FOUND']);
  });
});

/** Makes each write to a table fail while `work` runs. */
async function failing<T>(table: string, work: () => Promise<T>): Promise<T> {
  await sql`create or replace function refuse_write() returns trigger language plpgsql as
    $$ begin raise exception 'The table cannot be written'; end $$`.execute(api.db);
  await sql`create trigger refuse_write before insert or update or delete on ${sql.table(table)}
    for each row execute function refuse_write()`.execute(api.db);
  try {
    return await work();
  } finally {
    await sql`drop trigger refuse_write on ${sql.table(table)}`.execute(api.db);
  }
}

describe('an apply that fails at any write', () => {
  it.each([
    'topic',
    'template',
    'segment',
    'workflow',
    'workflow_step',
    'workflow_version',
    'event_subscription',
    'outbox',
    'send_policy',
    'held_release',
    'security_event',
    'plan',
  ])('to %s changes nothing, and is made whole when it is tried again', async (table) => {
    await applied({ 'templates/old.html': template() });
    const before = (await shop.files()).files;
    const files = {
      'topics/news.yaml': topic(),
      'segments/friends.yaml': segment,
      'templates/welcome.html': template('Welcome', 'topic: news\n'),
      'workflows/a.yaml': workflow('welcome'),
      'subscriptions/hooks.yaml': 'url: https://hooks.shop.example/in\nevents: [order.*]\n',
      'policies/send.yaml': 'onCap: skip\n',
    };
    const { id } = await shop.plan(files, { prune: ['template/old'] });
    const failed = await failing(table, () => apply(id));
    expect(failed.status).toBe(500);
    expect((await shop.files()).files).toEqual(before);
    expect(codeOf(await apply(id))).toEqual([200, undefined]);
    expect(Object.keys((await shop.files()).files).toSorted()).toEqual(
      Object.keys(files).toSorted(),
    );
  });
});
