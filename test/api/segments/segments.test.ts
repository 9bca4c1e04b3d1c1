import { beforeAll, describe, expect, it } from 'vitest';
import { useApi, type TestAnswer } from '../../support/api.ts';

let project: { id: string; secretKey: string };
const api = await useApi();

/** Each test group has a project of its own: segments count all of its contacts. */
async function newProject(): Promise<void> {
  project = await api.createProject((await api.signUp()).cookie);
}

const call = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { key: project.secretKey, body });

const contact = (email: string, data: object = {}, more: object = {}) =>
  call('POST', '/contacts', { email, data, ...more });

const isPro = { field: 'data.plan', operator: 'equals', value: 'pro' };
const isBig = { field: 'data.seats', operator: 'greaterThan', value: 10 };
const all = (...conditions: object[]) => ({ operator: 'AND', conditions });
const names = (id: string, operator = 'memberOfSegment') => ({ field: `segment.${id}`, operator });

async function createSegment(body: object): Promise<TestAnswer['body']> {
  const made = await call('POST', '/segments', { name: 'S', ...body });
  expect([made.status, made.body]).toMatchObject([201, {}]);
  return made.body;
}

function expectInvalid({ status, body }: TestAnswer, field: string, code: string): void {
  expect([status, body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
  expect(body.error.errors).toContainEqual(expect.objectContaining({ field, code }));
}

describe('a segment', () => {
  beforeAll(async () => {
    await newProject();
    await contact('ann@x.example', { plan: 'pro' });
    await contact('bob@x.example', { plan: 'pro' }, { subscribed: false });
    await contact('eve@x.example', { plan: 'free' });
  });

  it('is made by a flat condition and counted at once, unsubscribed contacts too', async () => {
    const { status, body } = await call('POST', '/segments', {
      name: ' Pro users ',
      filters: all(isPro),
      trackMembership: false,
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      name: 'Pro users',
      description: null,
      type: 'DYNAMIC',
      condition: { logic: 'AND', groups: [{ filters: [isPro] }] },
      filters: all(isPro),
      trackMembership: false,
      memberCount: 2,
      projectId: project.id,
      createdAt: expect.any(String),
      updatedAt: body.createdAt,
    });
    expect((await call('GET', `/segments/${body.id}`)).body).toEqual(body);
  });

  it('of hand-picked members has no condition', async () => {
    const made = await createSegment({ type: 'STATIC', condition: null, filters: null });
    expect(made).toMatchObject({ type: 'STATIC', condition: null, filters: null, memberCount: 0 });
    for (const field of ['condition', 'filters']) {
      const body = { name: 'S', type: 'STATIC', [field]: all(isPro) };
      expectInvalid(await call('POST', '/segments', body), field, 'not_allowed');
    }
  });

  it('needs a name, and a condition unless its members are picked by hand', async () => {
    expectInvalid(await call('POST', '/segments', { name: 'S' }), 'condition', 'invalid_type');
    const without = { name: 'S', condition: null, filters: null };
    expectInvalid(await call('POST', '/segments', without), 'condition', 'invalid_type');
    expectInvalid(await call('POST', '/segments', { filters: all(isPro) }), 'name', 'invalid_type');
  });

  it('says what is wrong in the form that was sent', async () => {
    const filters = (...given: object[]) =>
      call('POST', '/segments', { name: 'S', filters: all(...given) });
    const age = { field: 'email', operator: 'within', value: 1, unit: 'days' };
    const at = 'filters.conditions.0';
    expectInvalid(await filters(age), `${at}.operator`, 'unsupported_operator');
    expectInvalid(await filters({ ...age, field: 'phone' }), `${at}.field`, 'unsupported_field');
    const noUnit = { field: 'createdAt', operator: 'within', value: 1 };
    expectInvalid(await filters(noUnit), `${at}.unit`, 'invalid_type');
    const day = { field: 'createdAt', operator: 'greaterThan', value: '2026-02-30' };
    expectInvalid(await filters(isPro, day), 'filters.conditions.1.value', 'invalid_date');
    expectInvalid(await filters(), 'filters.conditions', 'too_small');
    const nested = {
      logic: 'AND',
      groups: [{ filters: [isPro, { field: 'data.x', operator: 'is', value: 1 }] }],
    };
    expectInvalid(
      await call('POST', '/segments', { name: '', condition: nested }),
      'condition.groups.0.filters.1.operator',
      'invalid_enum_value',
    );
    expectInvalid(
      await call('POST', '/segments', { name: 'S', filters: 'x' }),
      'filters',
      'invalid_type',
    );
    const { body } = await call('POST', '/segments', { filters: all(age, noUnit) });
    expect(body.error.errors.map((error: { field: string }) => error.field)).toEqual([
      'name',
      `${at}.operator`,
      'filters.conditions.1.unit',
    ]);
  });

  it('takes both forms when they mean the same, so that an answer can be sent back', async () => {
    const made = await createSegment({ filters: all(isPro, isBig) });
    const { status, body } = await call('PATCH', `/segments/${made.id}`, made);
    expect([status, body]).toEqual([200, { ...made, updatedAt: body.updatedAt }]);
    const other = { ...made, filters: all(isBig) };
    expectInvalid(await call('PATCH', `/segments/${made.id}`, other), 'filters', 'custom');
    expectInvalid(await call('POST', '/segments', other), 'filters', 'custom');
    const picked = await createSegment({ type: 'STATIC' });
    expect((await call('PATCH', `/segments/${picked.id}`, picked)).status).toBe(200);
  });

  it('has no flat form when its condition has two levels, and keeps it when it is renamed', async () => {
    const condition = {
      logic: 'OR',
      groups: [{ filters: [isPro, isBig] }, { filters: [{ ...isPro, value: 'free' }] }],
    };
    const made = await createSegment({ condition });
    expect(made).toMatchObject({ condition, filters: null, memberCount: 1 });
    const { body } = await call('PATCH', `/segments/${made.id}`, { name: 'T', filters: null });
    expect(body).toMatchObject({ name: 'T', condition, filters: null, memberCount: 1 });
  });

  it('is counted again when its condition changes', async () => {
    const made = await createSegment({ filters: all(isPro), description: 'd' });
    const change = { filters: all({ ...isPro, value: 'free' }), description: null };
    const { body } = await call('PATCH', `/segments/${made.id}`, change);
    expect(body).toMatchObject({ memberCount: 1, filters: change.filters, description: null });
    expectInvalid(
      await call('PATCH', `/segments/${made.id}`, { condition: null }),
      'condition',
      'invalid_type',
    );
    const { updatedAt } = body;
    await call('POST', `/segments/${made.id}/refresh`);
    expect((await call('GET', `/segments/${made.id}`)).body.updatedAt).toBe(updatedAt);
  });

  it('keeps its type', async () => {
    const made = await createSegment({ filters: all(isPro) });
    const path = `/segments/${made.id}`;
    expectInvalid(await call('PATCH', path, { type: 'STATIC' }), 'type', 'not_allowed');
    expect((await call('PATCH', path, { type: 'DYNAMIC' })).body).toMatchObject({
      type: 'DYNAMIC',
      memberCount: 2,
    });
    const picked = await createSegment({ type: 'STATIC' });
    const change = await call('PATCH', `/segments/${picked.id}`, { filters: all(isPro) });
    expectInvalid(change, 'filters', 'not_allowed');
  });

  it('is listed with all others, the newest first', async () => {
    await newProject();
    const ids = [];
    for (const name of ['a', 'b', 'c']) {
      ids.unshift((await createSegment({ name, type: 'STATIC' })).id);
    }
    const { body } = await call('GET', '/segments');
    expect(body.map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  it('of another project is not found', async () => {
    const { id } = await createSegment({ type: 'STATIC' });
    await newProject();
    const emails = { emails: ['a@x.example'] };
    const answers = [
      await call('GET', `/segments/${id}`),
      await call('PATCH', `/segments/${id}`, { name: 'x' }),
      await call('DELETE', `/segments/${id}`),
      await call('GET', `/segments/${id}/contacts`),
      await call('POST', `/segments/${id}/members`, emails),
      await call('DELETE', `/segments/${id}/members`, emails),
      await call('POST', `/segments/${id}/compute`),
      await call('POST', `/segments/${id}/refresh`),
    ];
    for (const { status, body } of answers) {
      expect([status, body.error.code]).toEqual([404, 'SEGMENT_NOT_FOUND']);
      expect(body.error.details).toEqual({ resource: 'segment', id });
    }
    const body = { name: 'S', filters: all(names(id)) };
    expectInvalid(await call('POST', '/segments', body), 'filters.conditions.0.field', 'not_found');
  });
});

describe('segments that name segments', () => {
  beforeAll(newProject);

  it('follow each other', async () => {
    await contact('ann@x.example', { plan: 'pro' });
    await contact('bob@x.example', { plan: 'free' });
    const pro = await createSegment({ filters: all(isPro) });
    const others = await createSegment({ filters: all(names(pro.id, 'notMemberOfSegment')) });
    const { body } = await call('GET', `/segments/${others.id}/contacts`);
    expect(body.data.map(({ email }: { email: string }) => email)).toEqual(['bob@x.example']);
    // Ids are equal in upper and lower case.
    const again = await createSegment({ filters: all(names(pro.id.toUpperCase())) });
    expect(again).toMatchObject({ memberCount: 1, filters: all(names(pro.id)) });
  });

  it('never lead back to themselves', async () => {
    const b = await createSegment({ filters: all(isPro) });
    const a = await createSegment({ filters: all(names(b.id)) });
    const top = await createSegment({ filters: all(names(a.id)) });
    for (const id of [a.id, b.id, top.id]) {
      const change = { filters: all(isPro, names(id)) };
      const answer = await call('PATCH', `/segments/${b.id}`, change);
      expectInvalid(answer, 'filters.conditions.1.field', 'circular_reference');
    }
  });

  it('never lead back to themselves when two are changed at once', async () => {
    for (let round = 0; round < 5; round++) {
      const a = await createSegment({ filters: all(isPro) });
      const b = await createSegment({ filters: all(isPro) });
      const answers = await Promise.all([
        call('PATCH', `/segments/${a.id}`, { filters: all(names(b.id)) }),
        call('PATCH', `/segments/${b.id}`, { filters: all(names(a.id)) }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422]);
    }
  });

  it('lead to fifty others at most, from wherever one looks', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 51; index++) {
      const filters = all(...ids.slice(-2).map((id) => names(id)), isPro);
      ids.push((await createSegment({ name: `${index}`, filters })).id);
    }
    const [first = '', last = ''] = [ids[0], ids.at(-1)];
    expect((await call('POST', `/segments/${last}/refresh`)).body).toEqual({ memberCount: 1 });
    const above = { name: 'S', filters: all(names(last)) };
    expectInvalid(await call('POST', '/segments', above), 'filters.conditions.0.field', 'too_big');
    const more = await createSegment({ filters: all(isPro) });
    const below = { filters: all(isPro, names(more.id)) };
    const answer = await call('PATCH', `/segments/${first}`, below);
    expectInvalid(answer, 'filters.conditions.1.field', 'too_big');
  });
});

describe('a segment in use', () => {
  beforeAll(newProject);

  const campaign = async (values: object) => {
    const row = await api.db
      .insertInto('campaign')
      .values({
        project_id: project.id,
        name: 'Sale',
        subject: 's',
        body: 'b',
        from_email: 'a@x.example',
        audience_type: 'SEGMENT',
        message_class: 'MARKETING',
        ...values,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    return row.id;
  };

  it('is not deleted while a campaign that is not over sends to it', async () => {
    const { id } = await createSegment({ filters: all(isPro) });
    const campaignId = await campaign({ segment_id: id });
    for (const status of ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED']) {
      const pausedReason = status === 'PAUSED' ? 'requested' : null;
      await api.db
        .updateTable('campaign')
        .set({ status, paused_reason: pausedReason })
        .where('id', '=', campaignId)
        .execute();
      const answer = await call('DELETE', `/segments/${id}`);
      expect([answer.status, answer.body.error.code]).toEqual([409, 'SEGMENT_IN_USE']);
      expect(answer.body.error.details).toEqual({
        campaigns: [{ id: campaignId, name: 'Sale', status }],
        segments: [],
        workflows: [],
      });
    }
    await api.db
      .updateTable('campaign')
      .set({ status: 'SENT', paused_reason: null })
      .where('id', '=', campaignId)
      .execute();
    expect((await call('DELETE', `/segments/${id}`)).status).toBe(204);
    expect((await call('GET', `/segments/${id}`)).status).toBe(404);
  });

  it('is not deleted while the condition of a campaign or of another segment names it', async () => {
    const { id } = await createSegment({ name: 'Named', filters: all(isPro) });
    const other = await createSegment({ name: 'Other', filters: all(names(id)) });
    const condition = { logic: 'OR', groups: [{ filters: [names(id, 'notMemberOfSegment')] }] };
    const campaignId = await campaign({
      audience_type: 'FILTERED',
      audience_condition: JSON.stringify(condition),
    });
    // The text alone is no reference.
    await createSegment({ filters: all({ ...isPro, value: { field: `segment.${id}` } }) });
    const { status, body } = await call('DELETE', `/segments/${id}`);
    expect([status, body.error.details]).toEqual([
      409,
      {
        campaigns: [{ id: campaignId, name: 'Sale', status: 'DRAFT' }],
        segments: [{ id: other.id, name: 'Other' }],
        workflows: [],
      },
    ]);
  });

  it('is either deleted or named, whichever comes first', async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await createSegment({ filters: all(isPro) });
      const [gone, made] = await Promise.all([
        call('DELETE', `/segments/${id}`),
        call('POST', '/segments', { name: 'S', filters: all(names(id)) }),
      ]);
      expect([
        [204, 422],
        [409, 201],
      ]).toContainEqual([gone.status, made.status]);
    }
  });
});
