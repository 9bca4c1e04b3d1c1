import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';

const api = await useApi();
const ada = await api.signUp();

const create = (cookie: string, body: unknown, headers: Record<string, string> = {}) =>
  api.request('POST', '/users/@me/projects', { cookie, body, headers });
const list = (cookie: string) => api.request('GET', '/users/@me/projects', { cookie });
const regenerate = (cookie: string, id: string) =>
  api.request('POST', `/users/@me/projects/${id}/regenerate-keys`, { cookie });
const disable = (id: string, reason: string | null = 'MANUAL') =>
  api.db.updateTable('project').set({ disabled_reason: reason }).where('id', '=', id).execute();
const addMember = (projectId: string, userId: string, role: string) =>
  api.db
    .insertInto('membership')
    .values({ project_id: projectId, user_id: userId, role })
    .execute();

const key = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{64}$`));
const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('POST /users/@me/projects', () => {
  it('answers the whole record with both keys complete and the user as owner', async () => {
    const { status, body } = await create(ada.cookie, { name: '  My shop ' });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      name: 'My shop',
      public: key('pk'),
      secret: key('sk'),
      role: 'OWNER',
      disabled: false,
      disabledReason: null,
      tracking: 'ENABLED',
      language: 'en',
      customer: null,
      subscription: null,
      billingLimitWorkflows: null,
      billingLimitCampaigns: null,
      billingLimitTransactional: null,
      billingLimitInbound: null,
      webhookSigningSecret: key('whsec'),
      createdAt: moment,
      updatedAt: moment,
    });
  });

  it('keeps the secret key only as hash and last four, the signing secret only encrypted', async () => {
    const { body } = await create(ada.cookie, { name: 'Kept' });
    const row = await api.db
      .selectFrom('project')
      .selectAll()
      .where('id', '=', body.id)
      .executeTakeFirstOrThrow();
    expect(row.secret_key_hash).toEqual(createHash('sha256').update(body.secret).digest());
    expect(row.secret_key_last4).toBe(body.secret.slice(-4));
    expect(row.webhook_signing_secret.includes(Buffer.from('whsec'))).toBe(false);
    expect(api.services.cipher.decrypt(row.webhook_signing_secret)).toBe(body.webhookSigningSecret);
  });

  it.each([
    {},
    { name: '' },
    { name: '   ' },
    { name: 'x'.repeat(101) },
    { name: 'a\u200bb' },
    { name: 7 },
  ])('refuses %j with 422 on the name', async (body) => {
    const refused = await create(ada.cookie, body);
    expect(refused.status).toBe(422);
    expect(refused.body.error.errors[0].field).toBe('name');
  });

  it('refuses a user of a disabled project with 403 PROJECT_DISABLED', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await disable(id, 'PHISHING_DETECTED');
    const { status, body } = await create(cookie, { name: 'Another' });
    expect([status, body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
    expect(body.error.details).toEqual({ reason: 'PHISHING_DETECTED' });
  });

  it('refuses a user whose address is not verified with 403 EMAIL_VERIFICATION_REQUIRED', async () => {
    const { cookie, userId } = await api.signUp();
    await api.db
      .updateTable('app_user')
      .set({ email_verified: false })
      .where('id', '=', userId)
      .execute();
    api.services.config.platformFrom = 'noreply@platform.test';
    const { status, body } = await create(cookie, { name: 'Shop' });
    const { status: listed } = await list(cookie);
    api.services.config.platformFrom = null;
    expect([status, body.error.code]).toEqual([403, 'EMAIL_VERIFICATION_REQUIRED']);
    expect(listed).toBe(200);
    // Without a platform sender, users cannot receive a verification mail.
    expect((await create(cookie, { name: 'Shop' })).status).toBe(201);
  });

  it('makes one project of a repeated Idempotency-Key and answers its secret key again', async () => {
    const { cookie } = await api.signUp();
    const headers = { 'Idempotency-Key': 'my first project' };
    const first = await create(cookie, { name: 'Once' }, headers);
    const second = await create(cookie, { name: 'Once' }, headers);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect((await list(cookie)).body).toHaveLength(1);
  });

  it('keeps the Idempotency-Keys of two users apart', async () => {
    const headers = { 'Idempotency-Key': randomUUID() };
    const users = await Promise.all([api.signUp(), api.signUp()]);
    const answers = await Promise.all(
      users.map(({ cookie }) => create(cookie, { name: 'Mine' }, headers)),
    );
    expect(answers[0]?.body.id).not.toBe(answers[1]?.body.id);
  });
});

describe('GET /users/@me/projects', () => {
  it('answers the projects oldest first, with the secret keys masked', async () => {
    const { cookie } = await api.signUp();
    const first = await api.createProject(cookie, 'First');
    const second = await api.createProject(cookie, 'Second');
    const { status, body } = await list(cookie);
    expect(status).toBe(200);
    expect(body.map((project: { name: string }) => project.name)).toEqual(['First', 'Second']);
    expect(body[0]).toMatchObject({
      id: first.id,
      public: first.publicKey,
      secret: `sk_…${first.secretKey.slice(-4)}`,
      webhookSigningSecret: key('whsec'),
    });
    expect(body[1].secret).toBe(`sk_…${second.secretKey.slice(-4)}`);
  });

  it('answers nothing of other users', async () => {
    const { cookie } = await api.signUp();
    expect((await list(cookie)).body).toEqual([]);
  });

  it('hides the signing secret from a MEMBER and shows it to an ADMIN', async () => {
    const { id } = await api.createProject(ada.cookie);
    const [member, admin] = await Promise.all([api.signUp(), api.signUp()]);
    await addMember(id, member.userId, 'MEMBER');
    await addMember(id, admin.userId, 'ADMIN');
    expect((await list(member.cookie)).body).toMatchObject([
      { id, role: 'MEMBER', webhookSigningSecret: null },
    ]);
    expect((await list(admin.cookie)).body).toMatchObject([
      { id, role: 'ADMIN', webhookSigningSecret: key('whsec') },
    ]);
  });

  it('names the reason of a disabled project', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await disable(id, 'PAYMENT_FAILED');
    expect((await list(cookie)).body).toMatchObject([
      { disabled: true, disabledReason: 'PAYMENT_FAILED' },
    ]);
  });
});

describe('POST /users/@me/projects/{id}/regenerate-keys', () => {
  const domainsWith = (secretKey: string, id: string) =>
    api.request('GET', `/domains/project/${id}`, { key: secretKey });

  it('replaces both keys; the old ones are dead at once', async () => {
    const old = await api.createProject(ada.cookie);
    expect((await domainsWith(old.secretKey, old.id)).status).toBe(200);
    const { status, body } = await regenerate(ada.cookie, old.id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: old.id, role: 'OWNER', public: key('pk'), secret: key('sk') });
    expect(body.public).not.toBe(old.publicKey);
    expect(body.secret).not.toBe(old.secretKey);
    const track = (publicKey: string) =>
      api.request('POST', '/v1/track', {
        key: publicKey,
        body: { email: 'ada@people.test', event: 'clicked' },
      });
    for (const refused of [
      await domainsWith(old.secretKey, old.id),
      await track(old.publicKey),
      await track(old.secretKey),
    ]) {
      expect([refused.status, refused.body.error.code]).toEqual([401, 'INVALID_API_KEY']);
    }
    expect((await track(body.public)).status).toBe(200);
    expect((await domainsWith(body.secret, old.id)).status).toBe(200);
  });

  it('answers a MEMBER 403 INSUFFICIENT_ROLE and a stranger 404 PROJECT_NOT_FOUND', async () => {
    const { id } = await api.createProject(ada.cookie);
    const [member, stranger] = await Promise.all([api.signUp(), api.signUp()]);
    await addMember(id, member.userId, 'MEMBER');
    const refused = await regenerate(member.cookie, id);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'INSUFFICIENT_ROLE']);
    const missing = await regenerate(stranger.cookie, id);
    expect([missing.status, missing.body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
    expect(missing.body.error.details).toEqual({ resource: 'project', id });
  });

  it('is refused in a disabled project', async () => {
    const { id } = await api.createProject(ada.cookie);
    await disable(id);
    const { status, body } = await regenerate(ada.cookie, id);
    await disable(id, null);
    expect([status, body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
  });

  it('ignores Idempotency-Key: every call makes new keys', async () => {
    const { id } = await api.createProject(ada.cookie);
    const call = () =>
      api.request('POST', `/users/@me/projects/${id}/regenerate-keys`, {
        cookie: ada.cookie,
        headers: { 'Idempotency-Key': 'again' },
      });
    const [first, second] = [await call(), await call()];
    expect(second.body.secret).not.toBe(first.body.secret);
  });
});

describe('PATCH /users/@me/projects/{id}', () => {
  const change = (cookie: string, id: string, body: unknown) =>
    api.request('PATCH', `/users/@me/projects/${id}`, { cookie, body });

  it('changes what is given and leaves the rest', async () => {
    const { id } = await api.createProject(ada.cookie, 'Before');
    const { status, body } = await change(ada.cookie, id, {
      name: ' After ',
      tracking: 'MARKETING_ONLY',
      language: 'pt-BR',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id,
      name: 'After',
      tracking: 'MARKETING_ONLY',
      language: 'pt-BR',
    });
    expect(body.secret).toMatch(/^sk_…[0-9a-f]{4}$/);
    const again = await change(ada.cookie, id, { language: 'de' });
    expect(again.body).toMatchObject({ name: 'After', tracking: 'MARKETING_ONLY', language: 'de' });
  });

  it.each([
    { name: '' },
    { tracking: 'SOMETIMES' },
    { language: 'english' },
    { language: 'EN' },
    { language: 'en-gb' },
    { language: null },
  ])('refuses %j with 422', async (body) => {
    const { id } = await api.createProject(ada.cookie);
    const refused = await change(ada.cookie, id, body);
    expect([refused.status, refused.body.error.errors[0].field]).toEqual([
      422,
      Object.keys(body)[0],
    ]);
  });

  it('answers strangers 404 and is refused in a disabled project', async () => {
    const { id } = await api.createProject(ada.cookie);
    const stranger = await api.signUp();
    expect((await change(stranger.cookie, id, { name: 'Mine' })).status).toBe(404);
    await disable(id);
    const refused = await change(ada.cookie, id, { name: 7 });
    await disable(id, null);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'PROJECT_DISABLED']);
  });
});

describe('POST /users/@me/projects/{id}/regenerate-webhook-secret', () => {
  it('answers a new secret; the old one is dead at once', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    const before = (await list(cookie)).body[0].webhookSigningSecret;
    const path = `/users/@me/projects/${id}/regenerate-webhook-secret`;
    const { status, body } = await api.request('POST', path, { cookie });
    expect([status, body]).toEqual([200, { webhookSigningSecret: key('whsec') }]);
    expect(body.webhookSigningSecret).not.toBe(before);
    expect((await list(cookie)).body[0].webhookSigningSecret).toBe(body.webhookSigningSecret);
  });
});

describe('a disabled project', () => {
  it('cannot be deleted, reset or given new keys', async () => {
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await disable(id);
    const path = `/users/@me/projects/${id}`;
    for (const [method, at] of [
      ['DELETE', path],
      ['POST', `${path}/reset`],
      ['POST', `${path}/regenerate-keys`],
    ] as const) {
      const refused = await api.request(method, at, { cookie });
      expect([refused.status, refused.body.error.code], at).toEqual([403, 'PROJECT_DISABLED']);
    }
    expect((await list(cookie)).body).toMatchObject([{ id, disabled: true }]);
  });
});
