import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf, useApi } from '../../support/api.ts';
import { type FileShop, openFileShop } from '../../support/projects/file-shop.ts';

const api = await useApi();

let shop: FileShop;

/** Opens a project with a verified sender domain. */
async function openShop(): Promise<FileShop> {
  const opened = await openFileShop(api);
  // One project at a time can have the domain.
  await api.db.deleteFrom('domain').where('name', '=', domain).execute();
  await api.db
    .insertInto('domain')
    .values({ project_id: opened.id, name: domain, status: 'verified', dkim_tokens: [] })
    .execute();
  return opened;
}

const domain = 'shop.example';

beforeEach(async () => {
  shop = await openShop();
});

const template = (name = 'Welcome', more = '') =>
  `---\nname: ${name}\nsubject: Hi\ntype: MARKETING\nfrom: team@${domain}\n${more}---\n<p>Hi</p>`;
const topic = (name = 'News') => `name: ${name}\nvisibility: private\ndefault: subscribed\n`;
const segment = (plan = 'pro') =>
  `name: Pro\ntype: DYNAMIC\nfilters:\n  operator: AND\n  conditions:\n    - {field: email, operator: contains, value: ${plan}}\n`;

/** A workflow that waits and then sends a mail. */
const workflow = ({ days = 2, enabled = true, name = 'Onboarding', wait = true } = {}) =>
  `name: ${name}
enabled: ${enabled}
trigger: {type: MANUAL}
steps:
${wait ? `  - {key: wait, type: DELAY, name: Wait, config: {amount: ${days}, unit: days}}\n` : ''}  - {key: welcome, type: SEND_EMAIL, name: Welcome, template: welcome, config: {}}
transitions:
${wait ? '  - {from: trigger, to: wait}\n  - {from: wait, to: welcome}\n' : '  - {from: trigger, to: welcome}\n'}`;

const weekly = `name: Weekly
enabled: true
trigger: {type: SCHEDULE, config: {cron: '0 9 * * mon', timeZone: Europe/Berlin, segment: pro}}
steps:
  - {key: welcome, type: SEND_EMAIL, name: Welcome, template: welcome, config: {}}
transitions:
  - {from: trigger, to: welcome}
`;

/** Makes a plan, and returns the answer to its application. */
async function planAndApply(files: Record<string, string>, more: object = {}, options = {}) {
  const { id } = await shop.plan(files, more);
  return apply(id, options);
}

const apply = (planId: string, more: object = {}) =>
  shop.call('POST', '/apply', { planId, ...more });

interface Changed {
  action: string;
  kind: string;
  key: string;
  id: string;
}

/** Applies files, which must succeed. Returns the ids of the changed objects by `kind/key`. */
async function applied(files: Record<string, string>, more: object = {}, options = {}) {
  const { status, body } = await planAndApply(files, more, options);
  expect([status, body.error]).toEqual([200, undefined]);
  const objects: [string, string][] = body.result.objects.map(({ kind, key, id }: Changed) => [
    `${kind}/${key}`,
    id,
  ]);
  return { body, ids: Object.fromEntries(objects) };
}

describe('POST /apply', () => {
  it('makes the same objects in another project, byte for byte', async () => {
    await applied({
      'topics/news.yaml': topic(),
      'templates/welcome.html': template('Wélcome', 'topic: news\n'),
      'segments/pro.yaml': segment(),
      'workflows/weekly.yaml': weekly,
    });
    const { files } = await shop.files();
    expect(Object.keys(files)).toHaveLength(4);
    shop = await openShop();
    const plan = await shop.plan(files);
    expect(plan.summary).toMatchObject({ create: 4, unchanged: 0 });
    const { status, body } = await apply(plan.id, { note: 'All of the shop' });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      state: 'applied',
      expiresAt: null,
      appliedBy: { type: 'key', id: 'secret' },
      migrate: 'none',
      note: 'All of the shop',
      result: { jobs: [] },
    });
    expect(body.result.objects.map(({ action, kind }: Changed) => `${action} ${kind}`)).toEqual([
      'create workflow',
      'create template',
      'create segment',
      'create topic',
    ]);
    expect((await shop.files()).files).toEqual(files);
    const [{ id }] = body.result.objects;
    const { body: stored } = await shop.call('GET', `/workflows/${id}`);
    expect(stored).toMatchObject({ version: 1, enabled: true });
    expect(
      await api.db
        .selectFrom('workflow_schedule')
        .select('workflow_id')
        .where('workflow_id', '=', id)
        .execute(),
    ).toHaveLength(1);
    // The same files once more change nothing.
    const again = await shop.plan(files);
    expect(again.summary).toMatchObject({ create: 0, update: 0, unchanged: 4 });
    expect((await apply(again.id)).body.result).toEqual({ objects: [], jobs: [] });
    expect((await shop.call('GET', `/workflows/${id}`)).body.version).toBe(1);
  });

  it('keeps the id of an object with another name, or another key by renamedFrom', async () => {
    const { ids } = await applied({ 'templates/welcome.html': template() });
    const id = ids['template/welcome'];
    await applied({ 'templates/welcome.html': template('Hello') });
    const { body } = await shop.call('GET', `/templates/${id}`);
    expect(body.name).toBe('Hello');
    const renamed = await applied({
      'templates/hello.html': template('Hello', 'renamedFrom: welcome\n'),
    });
    expect(renamed.body.result.objects).toEqual([
      { action: 'update', kind: 'template', key: 'hello', id },
    ]);
    // Without `renamedFrom` it is another object.
    const other = await applied({ 'templates/other.html': template('Hello') });
    expect(other.body.summary).toMatchObject({ create: 1, unmanaged: 1 });
    expect(Object.keys((await shop.files()).files)).toEqual([
      'templates/hello.html',
      'templates/other.html',
    ]);
    // The object with the former key has its own file, which does not change.
    const copy = await applied({
      'templates/hello.html': template('Hello'),
      'templates/copy.html': template('Copy', 'renamedFrom: hello\n'),
    });
    expect(copy.body.result.objects).toEqual([
      {
        action: 'create',
        kind: 'template',
        key: 'copy',
        id: expect.not.stringContaining(id ?? ''),
      },
    ]);
  });

  it('deletes what is used only by what is deleted too', async () => {
    const files = { 'templates/welcome.html': template(), 'workflows/a.yaml': workflow() };
    await applied(files);
    const blocked = await planAndApply(
      { 'workflows/a.yaml': workflow() },
      { prune: ['template/*'] },
    );
    expect(codeOf(blocked)).toEqual([409, 'PLAN_BLOCKED']);
    expect(blocked.body.error.details).toEqual({
      changes: [{ kind: 'template', key: 'welcome', code: 'TEMPLATE_IN_USE' }],
    });
    expect(Object.keys((await shop.files()).files)).toHaveLength(2);
    await applied({}, { prune: ['template/*', 'workflow/*'] });
    expect((await shop.files()).files).toEqual({});
  });

  it('names every blocked change, and makes none of the others', async () => {
    const used = { 'templates/welcome.html': template(), 'topics/news.yaml': topic() };
    const other = template('Other', 'topic: news\n');
    await applied({ ...used, 'workflows/a.yaml': workflow(), 'templates/other.html': other });
    const { status, body } = await planAndApply(
      { 'workflows/a.yaml': workflow({ name: 'Changed' }), 'templates/other.html': other },
      { prune: ['template/*', 'topic/*'] },
    );
    expect([status, body.error.details.changes]).toEqual([
      409,
      [
        { kind: 'template', key: 'welcome', code: 'TEMPLATE_IN_USE' },
        { kind: 'topic', key: 'news', code: 'TOPIC_IN_USE' },
      ],
    ]);
    expect((await shop.files()).files['workflows/a.yaml']).toContain('name: Onboarding');
  });

  it('enables and disables workflows as their files say, with at most one version', async () => {
    const { ids } = await applied({
      'templates/welcome.html': template(),
      'workflows/a.yaml': workflow().replace('enabled: true\n', ''),
    });
    const id = ids['workflow/a'];
    const state = async () => {
      const { body } = await shop.call('GET', `/workflows/${id}`);
      return [body.version, body.enabled];
    };
    expect(await state()).toEqual([1, false]);
    await applied({ 'workflows/a.yaml': workflow() });
    expect(await state()).toEqual([1, true]);
    await applied({ 'workflows/a.yaml': workflow({ days: 3, enabled: false }) });
    expect(await state()).toEqual([2, false]);
  });

  it('keeps the files of an open plan encrypted, with the headers of subscriptions', async () => {
    const hook =
      'url: https://hook.example/\nevents: [email.sent]\nheaders: {X-Token: in-the-clear}\n';
    const { id } = await shop.plan({ 'subscriptions/hook.yaml': hook });
    const { files } = await api.db
      .selectFrom('plan')
      .select('files')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(Object.keys(Object(files) as object)).toEqual(['subscriptions/hook.yaml']);
    expect(JSON.stringify(files)).not.toContain('in-the-clear');
    expect((await apply(id)).status).toBe(200);
  });

  it('sets policies, subscriptions and their limits', async () => {
    const files = {
      'subscriptions/hooks.yaml': 'url: https://hooks.shop.example/in\nevents: [order.*]\n',
      'policies/send.yaml': 'timeZone: Europe/Berlin\nonCap: skip\n',
      'policies/consent.yaml': 'requireConfirmation: true\nfrom: team@shop.example\n',
    };
    const { ids } = await applied(files);
    const { body } = await shop.call('GET', '/event-subscriptions');
    expect(body).toMatchObject([{ id: ids['event-subscription/hooks'], enabled: true }]);
    expect((await shop.call('GET', '/send-policy')).body).toMatchObject({ onCap: 'skip' });
    expect((await shop.call('GET', '/consent-policy')).body).toMatchObject({
      requireConfirmation: true,
    });
    await applied({
      'subscriptions/hooks.yaml': `${files['subscriptions/hooks.yaml']}enabled: false\n`,
    });
    expect((await shop.call('GET', '/event-subscriptions')).body).toMatchObject([
      { enabled: false },
    ]);
  });

  it('changes a template together with the consent policy that used it, but not alone', async () => {
    const mail = (type: string) =>
      `---\nname: Confirm\nsubject: Hi\ntype: ${type}\nfrom: team@${domain}\n---\n<a href="{{confirmUrl}}">Yes</a>`;
    const policy = (key: string) => `requireConfirmation: true\ntemplate: ${key}\n`;
    const { ids } = await applied({
      'templates/confirm.html': mail('TRANSACTIONAL'),
      'policies/consent.yaml': policy('confirm'),
    });
    const changed = { 'templates/confirm.html': mail('HEADLESS') };
    expect(await shop.refused(changed)).toEqual([
      ['files.templates/confirm.html#type', 'not_allowed'],
    ]);
    await applied({
      ...changed,
      'templates/other.html': mail('TRANSACTIONAL'),
      'policies/consent.yaml': policy('other'),
    });
    const { body } = await shop.call('GET', `/templates/${ids['template/confirm']}`);
    expect(body.type).toBe('HEADLESS');
  });
});
