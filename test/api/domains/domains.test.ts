import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { sesSettings, useFakeSes } from '../../support/fakes/ses.ts';

const api = await useApi();
const ada = await api.signUp();
const shop = await api.createProject(ada.cookie);

const add = (body: unknown, as: { key?: string; cookie?: string } = { key: shop.secretKey }) =>
  api.request('POST', '/domains', { ...as, body });
const newName = (end = 'dev') => `${randomUUID()}.${end}`;

describe('POST /domains', () => {
  it('verifies a reserved name at once in local mode and stores it normalised', async () => {
    const { status, body } = await add({ domain: 'Shop.Test.' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ domain: 'shop.test', verified: true, status: 'verified' });
    expect(body.verifiedAt).not.toBeNull();
    expect(body.records.map((record: { status: string }) => record.status)).toEqual(
      Array.from({ length: 6 }, () => 'verified'),
    );
  });

  it('answers any other name pending, with three tokens and six records', async () => {
    const name = newName();
    const { status, body } = await add({ domain: name });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      domain: name,
      status: 'pending',
      verified: false,
      projectId: shop.id,
      lastCheckedAt: null,
      verifiedAt: null,
    });
    const fields =
      'createdAt dkimTokens domain id lastCheckedAt projectId records status updatedAt verified verifiedAt';
    expect(Object.keys(body).toSorted().join(' ')).toBe(fields);
    const [first] = body.dkimTokens;
    expect(body.dkimTokens).toEqual([1, 2, 3].map(() => expect.stringMatching(/^[a-z0-9]{32}$/)));
    expect(body.records).toHaveLength(6);
    expect(body.records[0]).toEqual({
      type: 'CNAME',
      name: `${first}._domainkey.${name}`,
      value: `${first}.dkim.amazonses.com`,
      zoneLine: `${first}._domainkey.${name}. 3600 IN CNAME ${first}.dkim.amazonses.com.`,
      purpose: 'dkim',
      needed: true,
      status: 'pending',
      found: [],
    });
    expect(body.records[3]).toMatchObject({ type: 'MX', priority: 10, purpose: 'mail_from' });
  });

  it('refuses a name that the project has with 409 DOMAIN_EXISTS', async () => {
    const name = newName();
    expect((await add({ domain: name })).status).toBe(201);
    const { status, body } = await add({ domain: `${name.toUpperCase()}.` });
    expect([status, body.error.code]).toEqual([409, 'DOMAIN_EXISTS']);
  });

  it('takes a name that another project has claimed, and refuses one that it holds', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    const claimed = newName();
    const held = newName('test');
    const [first] = [await add({ domain: claimed }), await add({ domain: held })];
    const key = other.secretKey;
    const second = await add({ domain: claimed }, { key });
    expect([second.status, second.body.status]).toEqual([201, 'pending']);
    expect(second.body.dkimTokens).not.toEqual(first.body.dkimTokens);
    const refused = await add({ domain: held }, { key });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'DOMAIN_EXISTS']);
  });

  it('gives a reserved name in local mode to one of two projects at once', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    for (let round = 0; round < 3; round += 1) {
      const domain = newName('test');
      const answers = await Promise.all(
        [shop, other].map(({ secretKey: key }) => add({ domain }, { key })),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
      const rows = await api.db
        .selectFrom('domain')
        .select(['name', 'status'])
        .where('name', '=', domain)
        .execute();
      expect(rows).toEqual([{ name: domain, status: 'verified' }]);
    }
  });

  it('refuses the domain the server itself sends from with 403 FORBIDDEN', async () => {
    const posting = await useApi({ PLATFORM_FROM_ADDRESS: 'a@Post.Test' });
    const { cookie, userId } = await posting.signUp();
    await posting.db
      .updateTable('app_user')
      .set({ email_verified: true })
      .where('id', '=', userId)
      .execute();
    const { secretKey: key } = await posting.createProject(cookie);
    const ask = (domain: string) => posting.request('POST', '/domains', { key, body: { domain } });
    const { status, body } = await ask('post.test');
    expect([status, body.error.code]).toEqual([403, 'FORBIDDEN']);
    expect((await ask('blog.post.test')).status).toBe(201);
  });

  it('gives a name to one of two requests at once', async () => {
    const domain = newName();
    const answers = await Promise.all([add({ domain }), add({ domain })]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });

  it.each([
    'https://x.dev',
    '127.0.0.1',
    '[::1]',
    'ada@x.dev',
    'localhost',
    'ab',
    7,
    null,
    undefined,
  ])('refuses %j with 422 on the domain', async (domain) => {
    const { status, body } = await add({ domain });
    expect(status).toBe(422);
    expect(body.error.errors[0].field).toBe('domain');
  });

  it('answers a secret key 404 PROJECT_NOT_FOUND for a foreign projectId', async () => {
    const other = await api.createProject((await api.signUp()).cookie);
    for (const projectId of [other.id, randomUUID()]) {
      const { status, body } = await add({ domain: newName(), projectId });
      expect([status, body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    }
    expect((await add({ domain: newName(), projectId: shop.id })).status).toBe(201);
  });

  it('needs the projectId with a cookie', async () => {
    const { cookie } = ada;
    const missing = await add({ domain: newName() }, { cookie });
    expect(missing.status).toBe(422);
    expect(missing.body.error.errors).toEqual([
      expect.objectContaining({ field: 'projectId', code: 'invalid_type', received: 'undefined' }),
    ]);
    expect((await add({ domain: newName(), projectId: shop.id }, { cookie })).status).toBe(201);
    const foreign = await add({ domain: newName(), projectId: randomUUID() }, { cookie });
    expect([foreign.status, foreign.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
  });

  it('refuses a disabled project, by key and by cookie', async () => {
    const { id, secretKey } = await api.createProject(ada.cookie);
    const disable = (reason: string | null) =>
      api.db.updateTable('project').set({ disabled_reason: reason }).where('id', '=', id).execute();
    await disable('MANUAL');
    const answers = await Promise.all([
      add({ domain: newName() }, { key: secretKey }),
      add({ domain: newName(), projectId: id }, { cookie: ada.cookie }),
    ]);
    await disable(null);
    for (const { status, body } of answers) {
      expect([status, body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
    }
  });
});

describe('GET /domains', () => {
  it('answers the domains of the own project, to the key and to a member who names it', async () => {
    const { id, secretKey } = await api.createProject(ada.cookie);
    await add({ domain: newName() }, { key: secretKey });
    const named = await api.request('GET', `/domains/project/${id}`, { key: secretKey });
    const member = { cookie: ada.cookie, headers: { 'X-Project-Id': id } };
    for (const as of [{ key: secretKey }, member]) {
      const { status, body } = await api.request('GET', '/domains', as);
      expect([status, body]).toEqual([200, named.body]);
    }
    expect(named.body).toHaveLength(1);
  });
});

describe('GET /domains/project/{projectId}', () => {
  it('answers the domains newest first, to the key and to a member', async () => {
    const { id, secretKey } = await api.createProject(ada.cookie);
    const names = [newName(), newName('test')];
    for (const domain of names) await add({ domain }, { key: secretKey });
    for (const as of [{ key: secretKey }, { cookie: ada.cookie }]) {
      const { status, body } = await api.request('GET', `/domains/project/${id}`, as);
      expect(status).toBe(200);
      expect(body.map((row: { domain: string }) => row.domain)).toEqual(names.toReversed());
      expect(body[1].records).toHaveLength(6);
    }
  });

  it('answers strangers 404 PROJECT_NOT_FOUND, by key and by cookie', async () => {
    const stranger = await api.signUp();
    const other = await api.createProject(stranger.cookie);
    for (const as of [{ key: other.secretKey }, { cookie: stranger.cookie }]) {
      const { status, body } = await api.request('GET', `/domains/project/${shop.id}`, as);
      expect([status, body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    }
  });

  it('answers 422 for an id that is no uuid', async () => {
    const { status, body } = await api.request('GET', '/domains/project/mine', {
      key: shop.secretKey,
    });
    expect([status, body.error.errors[0].field]).toEqual([422, 'projectId']);
  });
});

describe('with SES', async () => {
  const ses = await useFakeSes();
  const hosted = await useApi(sesSettings(ses));
  const { secretKey: key } = await hosted.createProject((await hosted.signUp()).cookie);
  const addThere = (domain: string) =>
    hosted.request('POST', '/domains', { key, body: { domain } });

  it('takes the tokens of SES, also for a reserved name, which stays pending', async () => {
    const name = newName('test');
    const { status, body } = await addThere(name);
    expect(status).toBe(201);
    expect(body.status).toBe('pending');
    expect(body.dkimTokens).toEqual(ses.identities.get(name)?.tokens);
    expect(ses.identities.get(name)?.mailFrom).toBe(`mail.${name}`);
    expect(body.records).toHaveLength(7);
    expect(body.records[3]).toMatchObject({
      type: 'TXT',
      name: `_everpost.${name}`,
      value: expect.stringMatching(/^everpost-verification=[0-9a-f]{32}$/),
      purpose: 'ownership',
      needed: true,
      status: 'pending',
    });
    expect(body.records[4].needed).toBe(false);
    expect(body.records[4].value).toBe('feedback-smtp.eu-west-1.amazonses.com');
  });

  it('leaves no claim behind when SES fails: 503, the name is free, and its run is signalled', async () => {
    const name = newName();
    // SES does not know the domain, registers it, and then refuses its MAIL FROM domain.
    ses.next = ['ok', 'ok', { status: 400, type: 'BadRequestException' }];
    hosted.dispatched.length = 0;
    const { status, body } = await addThere(name);
    expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    expect(
      await hosted.db.selectFrom('domain').select('id').where('name', '=', name).execute(),
    ).toEqual([]);
    expect(hosted.dispatched.at(-1)).toMatch(/^domain-/);
    const again = await addThere(name);
    expect(again.status).toBe(201);
    expect(ses.identities.get(name)?.mailFrom).toBe(`mail.${name}`);
  });

  it('leaves one identity when two requests race for a name', async () => {
    const name = newName();
    const answers = await Promise.all([1, 2, 3].map(() => addThere(name)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
    const winner = answers.find(({ status }) => status === 201);
    expect(ses.identities.get(name)?.tokens).toEqual(winner?.body.dkimTokens);
  });

  it('frees a name whose request died half-way, after two minutes', async () => {
    const name = newName();
    const project = await hosted.db.selectFrom('project').select('id').executeTakeFirstOrThrow();
    const madeAt = (at: Date) =>
      hosted.db.updateTable('domain').set({ created_at: at }).where('name', '=', name).execute();
    await hosted.db
      .insertInto('domain')
      .values({ project_id: project.id, name, dkim_tokens: [], is_registered: false })
      .execute();
    expect((await addThere(name)).status).toBe(409);
    const listed = await hosted.request('GET', `/domains/project/${project.id}`, { key });
    expect(listed.body.map((row: { domain: string }) => row.domain)).not.toContain(name);
    await madeAt(new Date(Date.now() - 121_000));
    expect((await addThere(name)).status).toBe(201);
  });
});
