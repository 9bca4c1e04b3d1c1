import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { writeChanges } from '../../../api/files/writing/write.ts';
import type { ChangeOutcome, FileChange, PlannedChange } from '../../../api/files/changes.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { limitDuration } from '../../../api/files/duration.ts';
import { transact } from '../../../db/database.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();

interface Shop {
  id: string;
  call: (method: string, path: string, body?: unknown) => ReturnType<typeof api.request>;
}

let shop: Shop;

beforeEach(async () => {
  const { cookie } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie, 'Shop');
  const call: Shop['call'] = (method, path, body) =>
    api.request(method, path, { key: secretKey, ...(body === undefined ? {} : { body }) });
  shop = { id, call };
});

const topic = (more = '') => `name: News\nvisibility: private\ndefault: subscribed\n${more}`;
const template = (more = '') =>
  `---\nname: Welcome\nsubject: Hi\ntype: MARKETING\n${more}---\n<p>Hi</p>`;
const dynamic = (filter: string) =>
  `name: Some\ntype: DYNAMIC\nfilters:\n  operator: AND\n  conditions:\n    - ${filter}\n`;
const segment = (field: string) => dynamic(`{field: ${field}, operator: memberOfSegment}`);
const plan = dynamic('{field: email, operator: contains, value: a}');

/** Creates the objects of files, as an apply does. */
async function create(
  files: Record<string, string>,
  options = { collects: false },
  checkTime = () => {},
): Promise<{ ids: Record<string, string>; outcomes: Record<string, ChangeOutcome> }> {
  const { objects, problems } = readFiles(files, {});
  expect(problems).toEqual([]);
  const changes = objects.map((object): PlannedChange => {
    const { kind, key, path } = object;
    const change: FileChange = { action: 'create', kind, key, id: null, name: key, path };
    return { change, id: randomUUID(), object, stored: null };
  });
  const idsOf = (kind: string) =>
    new Map(
      changes
        .filter(({ change }) => change.kind === kind)
        .map(({ change, id }) => [change.key, id ?? '']),
    );
  const ids = { templates: idsOf('template'), segments: idsOf('segment'), topics: idsOf('topic') };
  const outcomes = await transact(api.db, (tx) =>
    writeChanges({ ...writing(), tx, checkTime }, changes, ids, options),
  );
  return {
    ids: Object.fromEntries(changes.map(({ id, change }) => [change.path, id ?? ''])),
    outcomes: Object.fromEntries([...outcomes].map(([{ change }, one]) => [change.path, one])),
  };
}

function writing() {
  const { cipher, webhooks } = api.services;
  const broken = new Map<string, string>();
  return { projectId: shop.id, causedBy: 'key:secret', cipher, webhooks, broken };
}

const texts = async () => (await shop.call('GET', '/files')).body.files as Record<string, string>;

describe('objects of files', () => {
  it('are stored after those that they name, in any order of the files', async () => {
    const files = {
      'segments/a.yaml': segment('segment.b'),
      'segments/b.yaml': segment('segment.plan'),
      'segments/plan.yaml': plan,
      'templates/welcome.html': template('topic: news\n'),
      'topics/news.yaml': topic(),
    };
    const { ids } = await create(files);
    expect(Object.keys(await texts())).toEqual(expect.arrayContaining(Object.keys(files)));
    const { body } = await shop.call('GET', `/templates/${ids['templates/welcome.html']}`);
    expect(body.topicId).toBe(ids['topics/news.yaml']);
    // The same files in another project.
    const before = await texts();
    const { cookie } = await api.signUp();
    const { id, secretKey } = await api.createProject(cookie, 'Shop');
    shop = { id, call: (method, path) => api.request(method, path, { key: secretKey }) };
    await create(before);
    expect(await texts()).toEqual(before);
  });

  it('are refused if their conditions name each other', async () => {
    const files = {
      'segments/a.yaml': segment('segment.b'),
      'segments/b.yaml': segment('segment.a'),
      'segments/plan.yaml': plan,
    };
    await expect(create(files)).rejects.toMatchObject({
      errors: [{ field: 'filters.conditions.0.field', code: 'circular_reference' }],
    });
    expect(await texts()).toEqual({});
    const { outcomes } = await create(files, { collects: true });
    expect(outcomes['segments/a.yaml']?.refused?.code).toBe('VALIDATION_ERROR');
    expect(outcomes['segments/plan.yaml']).toEqual({ refused: null, version: null });
  });

  it('are not stored if that takes too long', async () => {
    const files = { 'topics/news.yaml': topic() };
    await expect(create(files, undefined, limitDuration(-1))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    expect(await texts()).toEqual({});
  });

  it('are refused one by one if a plan asks for all problems', async () => {
    const files = {
      'templates/foreign.html': template('from: a@elsewhere.example\n'),
      'topics/news.yaml': topic(),
    };
    const { outcomes } = await create(files, { collects: true });
    expect(outcomes['templates/foreign.html']?.refused?.code).toBe('DOMAIN_NOT_REGISTERED');
    expect(Object.keys(await texts())).toEqual(['topics/news.yaml']);
  });

  it('are locked by their deletion only after the long reads of a plan', async () => {
    const workflow = `name: Wait
trigger: {type: MANUAL}
steps: [{key: wait, type: DELAY, name: Wait, config: {amount: 1, unit: days}}]
transitions: [{from: trigger, to: wait}]
`;
    const { ids } = await create({ 'workflows/wait.yaml': workflow });
    const id = ids['workflows/wait.yaml']!;
    const change = { action: 'delete' as const, kind: 'workflow' as const, key: 'wait', name: 'W' };
    const deleted = { change: { ...change, id, path: null }, id, object: null, stored: null };
    const none = { templates: new Map(), segments: new Map(), topics: new Map() };
    const hold = () =>
      sql`select id from workflow where id = ${id} for key share nowait`.execute(api.db);
    await transact(api.db, async (tx) => {
      let held = 0;
      await writeChanges({ ...writing(), tx, checkTime() {} }, [deleted], none, {
        collects: true,
        async beforeDeleting() {
          held = (await hold()).rows.length;
        },
      });
      expect(held).toBe(1);
      await expect(hold()).rejects.toMatchObject({ code: '55P03' });
    });
    expect(await texts()).toEqual({});
  });
});
