import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { refusal, type Shop, useShop } from '../../support/projects/shop.ts';

let projectId: string;
/** A request to a project of the test's own. */
let call: (method: string, path: string, body?: unknown) => ReturnType<Shop['call']>;
const shop = await useShop();
beforeEach(async () => {
  const { cookie } = await shop.api.signUp();
  const project = await shop.api.createProject(cookie);
  projectId = project.id;
  call = (method, path, body) => shop.api.request(method, path, { key: project.secretKey, body });
});

let age = 0;
/** Inserts contacts with these data, each newer than the one before. */
async function insert(...all: (object | null)[]): Promise<void> {
  const rows = all.map((data) => ({
    project_id: projectId,
    email: `${randomUUID()}@x.test`,
    subscribed: true,
    data: data && JSON.stringify(data),
    created_at: new Date(Date.UTC(2026, 0, 1) + age++ * 1000),
  }));
  await shop.api.db.insertInto('contact').values(rows).execute();
}

const standard = [
  { field: 'createdAt', type: 'date', coverage: 100 },
  { field: 'email', type: 'string', coverage: 100 },
  { field: 'subscribed', type: 'boolean', coverage: 100 },
  { field: 'updatedAt', type: 'date', coverage: 100 },
];

async function customFields() {
  const { status, body } = await call('GET', '/contacts/fields');
  expect([status, body.count]).toEqual([200, body.fields.length]);
  const names = body.fields.map(({ field }: { field: string }) => field);
  expect(names).toEqual(names.toSorted());
  const isStandard = ({ field }: { field: string }) => !field.startsWith('data.');
  expect(body.fields.filter(isStandard)).toEqual(standard);
  return body.fields.filter((field: { field: string }) => !isStandard(field));
}

async function typeOf(...values: unknown[]): Promise<string> {
  await insert(...values.map((value) => ({ x: value })));
  const [field] = await customFields();
  return field.type;
}

describe('GET /contacts/fields', () => {
  it('has the standard fields alone when no contact has data', async () => {
    expect(await customFields()).toEqual([]);
    await insert(null);
    expect(await customFields()).toEqual([]);
  });

  it('shows type and coverage', async () => {
    await insert({ plan: 'a', since: '2026-01-02' }, { plan: 'b' }, { plan: 'c' }, null);
    expect(await customFields()).toEqual([
      { field: 'data.plan', type: 'string', coverage: 75 },
      { field: 'data.since', type: 'date', coverage: 25 },
    ]);
  });

  it('shows at least 1 for a field that any contact has, and rounds', async () => {
    await insert({ rare: 1, most: 1 }, ...Array.from({ length: 299 }, () => ({ most: 1 })), null);
    expect(await customFields()).toEqual([
      { field: 'data.most', type: 'number', coverage: 100 },
      { field: 'data.rare', type: 'number', coverage: 1 },
    ]);
  });

  it.each([
    ['number', [1, 2.5, 'x']],
    ['boolean', [true, false]],
    ['string', ['a', 1, 'b']],
    ['string', [[1], { a: 1 }, 5]],
    ['date', ['2026-01-02', '2026-01-02T10:11:12', 'x']],
    ['date', ['2026-01-02T10:11:12Z', '2026-01-02T10:11:12.123', '2026-01-02T10:11:12.123Z']],
    ['string', ['2026-01-02T10:11', '2026-1-2', '2026-01-02T10:11:12+01:00', '2026-01-02 ']],
    ['string', ['x\n2026-01-02']],
  ])('a field is a %s with %j', async (type, values) => {
    expect(await typeOf(...values)).toBe(type);
  });

  it('takes the type from the 100 newest values, however rare or old they are', async () => {
    const many = (count: number, data: object) => Array.from({ length: count }, () => data);
    await insert(...many(60, { old: 'x' }), ...many(60, { old: 1 }), ...many(51, { old: true }));
    await insert({ once: '2026-01-02' });
    await insert(...many(150, { new: 'text' }), ...many(51, { new: 5 }));
    await insert(...many(5000, { common: 1 }));
    expect(await customFields()).toEqual([
      { field: 'data.common', type: 'number', coverage: 93 },
      { field: 'data.new', type: 'number', coverage: 4 },
      { field: 'data.old', type: 'boolean', coverage: 3 },
      { field: 'data.once', type: 'date', coverage: 1 },
    ]);
    const { body } = await call('GET', '/workflows/fields');
    expect(body.typedFields.slice(4)).toEqual([
      { field: 'contact.data.common', type: 'number', category: 'Custom Data' },
      { field: 'contact.data.new', type: 'number', category: 'Custom Data' },
      { field: 'contact.data.old', type: 'boolean', category: 'Custom Data' },
      { field: 'contact.data.once', type: 'date', category: 'Custom Data' },
    ]);
  });

  it('sees nothing of other projects', async () => {
    await shop.call('POST', '/contacts', { email: 'a@x.test', data: { secret: 1 } });
    expect(await customFields()).toEqual([]);
    expect((await call('GET', '/contacts/fields/secret/values')).body.values).toEqual([]);
    expect((await call('GET', '/contacts/fields/secret/usage')).body.contactCount).toBe(0);
    expect((await call('DELETE', '/contacts/fields/secret')).body.deletedFrom).toBe(0);
    const [row] = (await shop.call('GET', '/contacts?search=a@x.test')).body.data;
    expect(row.data).toEqual({ secret: 1 });
  });
});

describe('GET /contacts/fields/{field}/values', () => {
  const values = async (field: string, query = '') =>
    (await call('GET', `/contacts/fields/${encodeURIComponent(field)}/values${query}`)).body;

  it('are as they are stored, the most frequent first, then in order', async () => {
    const all = ['b', 'b', 10, 9, true, 'a', 'B', false, '10', [1], { a: 1 }, 9.0, 'é'];
    await insert(...all.map((value) => ({ v: value })), null, { w: 1 });
    expect(await values('data.v')).toEqual({
      field: 'data.v',
      values: [9, 'b', false, true, 10, '10', 'B', 'a', 'é'],
      count: 9,
      limit: 100,
    });
    expect(await values('v', '?limit=2')).toMatchObject({ values: [9, 'b'], count: 2, limit: 2 });
  });

  it('of standard fields are the two of subscribed alone', async () => {
    await insert({ email: 1 });
    expect(await values('subscribed')).toMatchObject({ values: [true, false], count: 2 });
    for (const field of ['email', 'createdAt', 'updatedAt', 'data.nobody', 'data.']) {
      expect(await values(field)).toEqual({ field, values: [], count: 0, limit: 100 });
    }
    await insert({ createdAt: 'mine' });
    expect((await values('data.createdAt')).values).toEqual(['mine']);
  });

  it.each(['0', '201', 'x', ''])('refuse a limit of %j', async (limit) => {
    const answer = await call('GET', `/contacts/fields/plan/values?limit=${limit}`);
    expect(refusal(answer)[2]).toMatch(/^limit /);
  });
});

describe('a field of any name', () => {
  it.each([
    'a/b',
    'a b',
    'a.b',
    'data.a',
    '50%',
    '%2F',
    'ключ',
    '\u{1f600}',
    'q?x=1#y',
    'constructor',
    'toString',
    '"',
    '\\',
    "'; drop table contact; --",
    'x'.repeat(100),
  ])('%j is stored, listed, read and deleted', async (key) => {
    const made = await call('POST', '/contacts', { email: 'a@x.test', data: { [key]: 'v' } });
    expect(made.body.data).toEqual({ [key]: 'v' });
    expect(await customFields()).toEqual([{ field: `data.${key}`, type: 'string', coverage: 100 }]);
    const path = `/contacts/fields/${encodeURIComponent(`data.${key}`)}`;
    expect((await call('GET', `${path}/values`)).body).toMatchObject({
      field: `data.${key}`,
      values: ['v'],
    });
    expect((await call('GET', `${path}/usage`)).body.contactCount).toBe(1);
    const gone = await call('DELETE', path);
    expect([gone.status, gone.body]).toEqual([200, { deletedFrom: 1 }]);
    expect((await call('GET', `/contacts/${made.body.id}`)).body.data).toBeNull();
  });
});

describe('the usage of a field', () => {
  const usage = async (field: string) =>
    (await call('GET', `/contacts/fields/${encodeURIComponent(field)}/usage`)).body;
  const none = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] };
  const filter = (field: string, value: unknown = 'x') => ({ field, operator: 'equals', value });
  const created = async (path: string, body: object) => {
    const { status, body: made } = await call('POST', path, body);
    expect([path, status, made.error]).toEqual([path, 201, undefined]);
    return made.id as string;
  };

  const createSegment = (name: string, ...filters: object[]) =>
    created('/segments', {
      name,
      type: 'DYNAMIC',
      condition: {
        logic: 'AND',
        groups: [
          {
            filters: [filter('email', 'a@x.test')],
            conditions: { logic: 'OR', groups: [{ filters }] },
          },
        ],
      },
    });

  async function createWorkflow(name: string, type: string, config: object): Promise<string> {
    const id = await created('/workflows', { name, eventName: 'started' });
    await created(`/workflows/${id}/steps`, { type, name: 'Step', config });
    return id;
  }

  async function insertCampaign(name: string, field: string, more: object = {}): Promise<string> {
    const condition = { logic: 'AND', groups: [{ filters: [filter(field)] }] };
    const row = await shop.api.db
      .insertInto('campaign')
      .values({
        project_id: projectId,
        name,
        subject: 'News',
        body: 'News',
        from_email: 'a@x.test',
        audience_type: 'FILTERED',
        audience_condition: JSON.stringify(condition),
        message_class: 'MARKETING',
        ...more,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  }

  it('has no uses for an unused field, which can be deleted', async () => {
    await insert({ plan: 1 }, null);
    await createSegment('Other', filter('data.planet'), filter('data.other.plan'));
    await createWorkflow('Other', 'UPDATE_CONTACT', { updates: { Plan: 1 } });
    expect(await usage('plan')).toEqual({ ...none, contactCount: 1, canDelete: true });
    expect(await usage('data.unknown')).toEqual({ ...none, contactCount: 0, canDelete: true });
  });

  it('names segments at any depth, also those that look inside the value', async () => {
    await insert({ plan: { tier: 1 } });
    const [inside, plain] = [
      await createSegment('A', filter('data.plan.tier')),
      await createSegment('B', filter('data.plan')),
    ];
    await createSegment('C', filter('email', 'b@x.test'));
    expect(await usage('data.plan')).toEqual({
      ...none,
      usedInSegments: [
        { id: inside, name: 'A' },
        { id: plain, name: 'B' },
      ],
      contactCount: 1,
      canDelete: false,
    });
    expect((await usage('tier')).usedInSegments).toEqual([]);
  });

  it('names campaigns with a condition of their own until they are over', async () => {
    const ids = [];
    for (const status of ['DRAFT', 'PAUSED', 'SCHEDULED', 'SENDING']) {
      const more = status === 'PAUSED' ? { paused_reason: 'requested' } : {};
      ids.push({
        id: await insertCampaign(status, 'data.plan', { status, ...more }),
        name: status,
      });
    }
    for (const status of ['SENT', 'CANCELLED'])
      await insertCampaign(status, 'data.plan', { status });
    await insertCampaign('All', 'data.plan', { audience_type: 'ALL' });
    await insertCampaign('Other', 'data.other');
    const { usedInCampaigns, canDelete } = await usage('plan');
    expect([usedInCampaigns, canDelete]).toEqual([ids, false]);
  });

  it('names workflows once that compare the field or change it', async () => {
    const binary = { field: 'contact.data.plan', operator: 'exists' };
    const expected = [
      await createWorkflow('A', 'CONDITION', binary),
      await createWorkflow('B', 'CONDITION', { field: 'data.plan.tier', operator: 'exists' }),
      await createWorkflow('C', 'UPDATE_CONTACT', { updates: { plan: null } }),
    ];
    const step = { type: 'CONDITION', name: 'Again', config: binary, autoConnect: false };
    await created(`/workflows/${expected[0]}/steps`, step);
    await createWorkflow('D', 'CONDITION', { field: 'event.plan', operator: 'exists' });
    await createWorkflow('E', 'CONDITION', { field: 'workflow.plan', operator: 'exists' });
    for (const [name, field] of [
      ['F', 'event.plan'],
      ['G', 'contact.data.plan'],
    ]) {
      const id = await created('/workflows', { name });
      const where = [{ field, operator: 'exists' }];
      const exitRules = [{ eventName: 'x', where, reason: 'x' }];
      await call('PATCH', `/workflows/${id}`, { exitRules });
      if (name === 'G') expected.push(id);
    }
    const { usedInWorkflows, canDelete } = await usage('plan');
    expect(usedInWorkflows.map(({ id }: { id: string }) => id)).toEqual(expected);
    expect(canDelete).toBe(false);
  });

  it('of standard fields is listed, too; they cannot be deleted', async () => {
    await insert(null, null, { email: 1 });
    expect(await usage('email')).toEqual({ ...none, contactCount: 3, canDelete: false });
    const segment = await createSegment('S', filter('createdAt', '2026-01-01'));
    const workflow = await createWorkflow('W', 'UPDATE_CONTACT', {
      subscriptionAction: 'unsubscribe',
    });
    await createWorkflow('V', 'UPDATE_CONTACT', {
      subscriptionAction: 'none',
      updates: { email: 1, a: 1 },
    });
    expect((await usage('createdAt')).usedInSegments).toEqual([{ id: segment, name: 'S' }]);
    expect((await usage('email')).usedInSegments).toEqual([{ id: segment, name: 'S' }]);
    expect((await usage('email')).usedInWorkflows).toEqual([]);
    expect((await usage('updatedAt')).usedInSegments).toEqual([]);
    expect((await usage('subscribed')).usedInWorkflows).toEqual([{ id: workflow, name: 'W' }]);
  });

  describe('DELETE /contacts/fields/{field}', () => {
    it.each(['email', 'subscribed', 'createdAt', 'updatedAt'])(
      'refuses the standard field %s',
      async (field) => {
        const answer = await call('DELETE', `/contacts/fields/${field}`);
        expect(refusal(answer)).toEqual([400, 'FIELD_NOT_DELETABLE']);
      },
    );

    it('removes the key from every contact, and returns how many had it', async () => {
      await insert({ plan: 1, seats: 2 }, { plan: null }, { plan: { a: 1 } }, { seats: 3 }, null);
      const before = (await call('GET', '/contacts')).body.data;
      const { status, body } = await call('DELETE', '/contacts/fields/plan');
      expect([status, body]).toEqual([200, { deletedFrom: 3 }]);
      const after = (await call('GET', '/contacts')).body.data;
      const data = (contacts: { data: unknown }[]) => contacts.map((contact) => contact.data);
      expect(data(after)).toEqual([null, { seats: 3 }, null, null, { seats: 2 }]);
      const moved = after.map(
        ({ updatedAt }: { updatedAt: string }, index: number) =>
          updatedAt > before[index].updatedAt,
      );
      expect(moved).toEqual([false, false, true, true, true]);
      expect((await call('DELETE', '/contacts/fields/data.plan')).body).toEqual({ deletedFrom: 0 });
    });

    it('refuses a field in use and names the users', async () => {
      await insert({ plan: 1 });
      const segment = await createSegment('S', filter('data.plan'));
      const campaign = await insertCampaign('C', 'data.plan');
      const workflow = await createWorkflow('W', 'UPDATE_CONTACT', { updates: { plan: 1 } });
      const answer = await call('DELETE', '/contacts/fields/data.plan');
      expect(refusal(answer)).toEqual([409, 'FIELD_IN_USE']);
      expect(answer.body.error.details).toEqual({
        usedInSegments: [{ id: segment, name: 'S' }],
        usedInCampaigns: [{ id: campaign, name: 'C' }],
        usedInWorkflows: [{ id: workflow, name: 'W' }],
      });
      expect((await usage('plan')).contactCount).toBe(1);
    });

    it('loses no other change that is made at the same time', async () => {
      const emails = Array.from({ length: 30 }, (_, index) => `${index}-${randomUUID()}@x.test`);
      const write = (email: string, data: object) => call('POST', '/contacts', { email, data });
      await Promise.all(emails.map((email) => write(email, { plan: 1 })));
      await Promise.all([
        ...emails.map((email) => write(email, { seats: email })),
        call('DELETE', '/contacts/fields/plan'),
        call('DELETE', '/contacts/fields/plan'),
      ]);
      const { body } = await call('GET', '/contacts?limit=100');
      for (const { email, data } of body.data) expect(data).toEqual({ seats: email });
    });
  });
});
