import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { countProviderState, insertProviderState } from '../../support/projects/mail-providers.ts';
import { refusal, useShop } from '../../support/projects/shop.ts';

const { api } = await useShop();

const password = 'the-password-of-the-server';
const postmark = {
  name: 'Postmark EU',
  kind: 'smtp',
  host: 'SMTP.postmarkapp.com.',
  user: '3f0c',
  password,
  feedback: 'postmark',
  ratePerSecond: 50,
  maxMessageMb: 10,
};
const mailgunKey = 'key-of-mailgun';
const ses = {
  name: 'SES of the shop',
  kind: 'ses',
  region: 'eu-west-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'the-secret-key-of-ses',
  snsTopicArn: 'arn:aws:sns:eu-west-1:123456789012:bounces',
};

/** Returns requests in a new project: with its secret key, and as one of its members. */
async function newProject() {
  const { cookie } = await api.signUp();
  const project = await api.createProject(cookie);
  const ask = (method: string, path: string, body?: unknown, headers = {}) =>
    api.request(method, path, { key: project.secretKey, body, headers });
  const add = async (given: object = {}) => {
    const { body, status } = await ask('POST', '/providers', { ...postmark, ...given });
    expect([status, body.error]).toEqual([201, undefined]);
    return body;
  };
  return { ...project, cookie, ask, add };
}

describe('GET /providers', () => {
  it('lists the provider of the installation without its address', async () => {
    const { ask } = await newProject();
    expect((await ask('GET', '/providers')).body).toEqual([
      {
        id: 'default',
        scope: 'installation',
        name: 'default',
        kind: 'mailbox',
        feedback: 'mailbox',
        enabled: true,
        reportsDelivery: true,
        state: 'up',
        nextTryAt: null,
      },
    ]);
  });

  it('lists it first, then those of the project, oldest first', async () => {
    const { ask, add } = await newProject();
    const first = await add();
    const second = await add({ name: 'Second' });
    const { body } = await ask('GET', '/providers');
    expect(body.map(({ id }: { id: string }) => id)).toEqual(['default', first.id, second.id]);
  });

  it('shows when a provider that is down is tried again', async () => {
    const { ask, add } = await newProject();
    const { id } = await add();
    const nextProbeAt = new Date('2030-01-01T00:00:00Z');
    await api.db
      .insertInto('provider_circuit')
      .values({
        provider: `provider ${id}`,
        failures: 3,
        opened_at: new Date(),
        next_probe_at: nextProbeAt,
      })
      .execute();
    const shown = await ask('GET', `/providers/${id}`);
    expect(shown.body).toMatchObject({ state: 'down', nextTryAt: nextProbeAt.toISOString() });
    // A changed password makes it due for a try at once.
    await ask('PATCH', `/providers/${id}`, { password: 'another' });
    const { body } = await ask('GET', `/providers/${id}`);
    expect(new Date(body.nextTryAt).getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    const disabled = await ask('PATCH', `/providers/${id}`, { enabled: false });
    expect(disabled.body).toMatchObject({ state: 'disabled', nextTryAt: null });
  });
});

describe('POST /providers', () => {
  it('adds an SMTP server, and never shows its password', async () => {
    const { ask, id: projectId } = await newProject();
    const { status, body } = await ask('POST', '/providers', postmark);
    const { feedbackUrl, ...record } = body;
    expect([status, record]).toEqual([
      201,
      {
        id: expect.any(String),
        scope: 'project',
        name: 'Postmark EU',
        kind: 'smtp',
        feedback: 'postmark',
        enabled: true,
        host: 'smtp.postmarkapp.com',
        port: 587,
        security: 'starttls',
        user: '3f0c',
        hasPassword: true,
        hasFeedbackSecret: false,
        domains: null,
        ratePerSecond: 50,
        maxMessageMb: 10,
        ownSigning: true,
        reportsDelivery: true,
        state: 'up',
        nextTryAt: null,
        projectId,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    const path = new RegExp(`^${api.url}/webhooks/providers/${record.id}/[0-9a-f]{64}$`);
    expect(feedbackUrl).toMatch(path);
    expect((await ask('GET', `/providers/${record.id}`)).body).toEqual(record);
    expect((await ask('GET', '/providers')).body.at(-1)).toEqual(record);
  });

  it('adds an account at Amazon SES, and never shows its secret key', async () => {
    const { ask } = await newProject();
    const { status, body } = await ask('POST', '/providers', ses);
    const { secretAccessKey: _, ...shown } = ses;
    expect([status, body]).toMatchObject([
      201,
      { ...shown, feedback: 'ses', configurationSet: null, reportsDelivery: true },
    ]);
    expect([body.feedbackUrl, 'host' in body, JSON.stringify(body).includes('secret-key')]).toEqual(
      [null, false, false],
    );
  });

  it('stores passwords and keys encrypted', async () => {
    const { add } = await newProject();
    const { id } = await add({ feedback: 'mailgun', feedbackSecret: mailgunKey });
    const row = await api.db
      .selectFrom('mail_provider')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const text = JSON.stringify(row) + [row.secret, row.feedback_secret].join(' ');
    expect(text).not.toMatch(new RegExp(`${password}|${mailgunKey}`));
    const opened = [row.secret, row.feedback_secret].map((sealed) =>
      api.services.cipher.decrypt(sealed ?? Buffer.alloc(0)),
    );
    expect(opened).toEqual([password, mailgunKey]);
  });

  it('takes TLS on port 465, unless told otherwise', async () => {
    const { add } = await newProject();
    expect(await add({ port: 465 })).toMatchObject({ security: 'tls' });
    const forced = { name: 'b', port: 465, security: 'starttls' };
    expect(await add(forced)).toMatchObject({ security: 'starttls' });
  });

  it('returns the same address of webhooks to a repeat with the same Idempotency-Key', async () => {
    const { ask } = await newProject();
    const key = { 'Idempotency-Key': randomUUID() };
    const first = await ask('POST', '/providers', postmark, key);
    const again = await ask('POST', '/providers', postmark, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect((await ask('GET', '/providers')).body).toHaveLength(2);
  });

  it('adds at most 20 to a project, also with requests at the same time', async () => {
    const { ask } = await newProject();
    const answers = await Promise.all(
      Array.from({ length: 25 }, (_, index) =>
        ask('POST', '/providers', { ...postmark, name: `Server ${index}` }),
      ),
    );
    const codes = answers.map(({ status, body }) => body.error?.code ?? status).toSorted();
    expect(codes).toEqual([
      ...Array<number>(20).fill(201),
      ...Array<string>(5).fill('PROVIDER_LIMIT'),
    ]);
  });

  it('refuses a name that the project has, in any case', async () => {
    const { ask, add } = await newProject();
    await add();
    const same = await ask('POST', '/providers', { ...postmark, name: 'POSTMARK eu' });
    expect(refusal(same)).toEqual([409, 'PROVIDER_EXISTS']);
    const { ask: askOther } = await newProject();
    expect((await askOther('POST', '/providers', postmark)).status).toBe(201);
  });

  it.each([
    [{ kind: 'mailgun' }, 'kind invalid_enum_value'],
    [{ port: 0 }, 'port too_small'],
    [{ port: 65_536 }, 'port too_big'],
    [{ host: 'smtp.example.com', security: 'none' }, 'security not_allowed'],
    [{ feedback: 'mailgun' }, 'feedbackSecret required'],
    [{ feedback: 'resend', feedbackSecret: null }, 'feedbackSecret required'],
    [{ feedback: 'dsn', feedbackSecret: 'x' }, 'feedbackSecret not_allowed'],
    [{ feedback: 'ses' }, 'feedback not_allowed'],
    [{ domains: ['a b'] }, 'domains.0 invalid_string'],
    [{ domains: [] }, 'domains too_small'],
    [{ user: null }, 'user required'],
    [{ user: '' }, 'user required'],
    [{ host: 'a b' }, 'host invalid_string'],
    [{ host: 'smtp.example.com:25' }, 'host invalid_string'],
    [{ host: 'user@smtp.example.com' }, 'host invalid_string'],
    [{ host: '10.0.0.1' }, 'host not_allowed'],
    [{ host: '0x0a000001' }, 'host not_allowed'],
    [{ host: '169.254.169.254' }, 'host not_allowed'],
    [{ host: '[fd00::1]' }, 'host not_allowed'],
    [{ region: 'eu-west-1' }, 'region not_allowed'],
    [{ ratePerSecond: 0 }, 'ratePerSecond too_small'],
    [{ maxMessageMb: 41 }, 'maxMessageMb too_big'],
    [{ name: '' }, 'name too_small'],
  ])('refuses %o', async (given, fault) => {
    const { ask } = await newProject();
    const answer = await ask('POST', '/providers', { ...postmark, ...given });
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', fault]);
  });

  it('refuses all that is wrong in one response', async () => {
    const { ask } = await newProject();
    const server = { name: 'a', kind: 'smtp', port: 0, password, feedback: 'sendgrid' };
    expect(refusal(await ask('POST', '/providers', server))).toEqual([
      422,
      'VALIDATION_ERROR',
      'port too_small',
      'host invalid_type',
      'user required',
      'feedbackSecret required',
    ]);
    const account = {
      name: 'a',
      kind: 'ses',
      region: 'eu-west-1.evil.example#',
      host: 'a.example',
    };
    expect(refusal(await ask('POST', '/providers', account))).toEqual([
      422,
      'VALIDATION_ERROR',
      'region invalid_string',
      'host not_allowed',
      'accessKeyId invalid_type',
      'secretAccessKey invalid_type',
    ]);
  });

  it('lets a server on this machine have a password without encryption, during development', async () => {
    const { ask } = await newProject();
    for (const host of ['localhost', '127.0.0.1', '::1']) {
      const server = { ...postmark, name: host, host, security: 'none' };
      const { status, body } = await ask('POST', '/providers', server);
      expect([status, body.host]).toEqual([201, host]);
    }
  });
});

describe('PATCH /providers/{id}', () => {
  it('needs the password again for another address', async () => {
    const { ask, add } = await newProject();
    const { id, feedbackUrl: _, ...before } = await add();
    const path = `/providers/${id}`;
    for (const given of [{ host: 'evil.example' }, { port: 25 }, { security: 'tls' }]) {
      expect(refusal(await ask('PATCH', path, given))).toEqual([
        422,
        'VALIDATION_ERROR',
        'password required',
      ]);
    }
    const unchanged = { host: before.host, port: 587, security: 'starttls' };
    expect((await ask('PATCH', path, unchanged)).body).toMatchObject(unchanged);
    const moved = await ask('PATCH', path, { host: 'other.example', password: 'new' });
    expect(moved.body).toMatchObject({ host: 'other.example', hasPassword: true });
    const bare = await ask('PATCH', path, { host: 'third.example', user: null, password: null });
    expect(bare.body).toMatchObject({ host: 'third.example', user: null, hasPassword: false });
    expect((await ask('PATCH', path, { port: 25 })).body).toMatchObject({ port: 25 });
  });

  it('keeps what is left out, and the kind', async () => {
    const { ask, add } = await newProject();
    const { id, feedbackUrl: _, ...before } = await add();
    const { updatedAt, ...kept } = before;
    const changed = await ask('PATCH', `/providers/${id}`, {
      name: 'Renamed',
      domains: ['A.shop'],
    });
    expect(changed.body).toMatchObject({ ...kept, name: 'Renamed', domains: ['a.shop'] });
    expect(changed.body.updatedAt >= updatedAt).toBe(true);
    const other = await ask('PATCH', `/providers/${id}`, { kind: 'ses' });
    expect(refusal(other)).toEqual([422, 'VALIDATION_ERROR', 'kind not_allowed']);
    const cleared = await ask('PATCH', `/providers/${id}`, { domains: null, ratePerSecond: null });
    expect(cleared.body).toMatchObject({ domains: null, ratePerSecond: null, maxMessageMb: 10 });
  });

  it('refuses a name that another provider has', async () => {
    const { ask, add } = await newProject();
    await add();
    const { id } = await add({ name: 'Second' });
    const taken = await ask('PATCH', `/providers/${id}`, { name: 'postmark EU' });
    expect(refusal(taken)).toEqual([409, 'PROVIDER_EXISTS']);
    expect((await ask('PATCH', `/providers/${id}`, { name: 'SECOND' })).status).toBe(200);
  });

  it('drops the secret of other webhooks, and asks for the one that it needs', async () => {
    const { ask, add } = await newProject();
    const { id } = await add({ feedback: 'mailgun', feedbackSecret: mailgunKey });
    const path = `/providers/${id}`;
    const refused = await ask('PATCH', path, { feedback: 'resend' });
    expect(refusal(refused)).toEqual([422, 'VALIDATION_ERROR', 'feedbackSecret required']);
    const empty = await ask('PATCH', path, { feedbackSecret: null });
    expect(refusal(empty)).toEqual([422, 'VALIDATION_ERROR', 'feedbackSecret required']);
    const brevo = await ask('PATCH', path, { feedback: 'brevo' });
    expect(brevo.body).toMatchObject({ feedback: 'brevo', hasFeedbackSecret: false });
    const tokenHash = async () =>
      api.db
        .selectFrom('mail_provider')
        .select('feedback_token_hash')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    expect(await tokenHash()).toEqual({ feedback_token_hash: expect.any(Buffer) });
    await ask('PATCH', path, { feedback: 'none' });
    expect(await tokenHash()).toEqual({ feedback_token_hash: null });
  });
});

describe('DELETE /providers/{id}', () => {
  it('refuses while a route or a ramp names it, or its mail is being sent or unknown', async () => {
    const { ask, add, id: projectId } = await newProject();
    const { id } = await add();
    const routes = JSON.stringify([{ match: {}, providers: [{ id, weight: 1 }], onDown: 'hold' }]);
    await api.db.insertInto('mail_routing').values({ project_id: projectId, routes }).execute();
    const ramp = await ask('POST', '/ramps', {
      providerId: id,
      startPerDay: 10,
      factor: 2,
      days: 3,
    });
    const inUse = await ask('DELETE', `/providers/${id}`);
    expect([inUse.status, inUse.body.error.code, inUse.body.error.details]).toEqual([
      409,
      'PROVIDER_IN_USE',
      { routes: 1, ramps: 1, sending: 0, unknown: 0 },
    ]);
    await api.db.deleteFrom('mail_routing').where('project_id', '=', projectId).execute();
    await ask('DELETE', `/ramps/${ramp.body.id}`);
    const domain = `${randomUUID()}.test`;
    await ask('POST', '/domains', { domain });
    const mail = { from: `team@${domain}`, to: 'ada@people.test', subject: 'Hi', body: 'Hi' };
    await ask('POST', '/v1/send', mail);
    const settle = async (changes: { status: string; lease_until: Date | null }) => {
      await api.db
        .updateTable('email')
        .set({ ...changes, provider_id: id })
        .where('project_id', '=', projectId)
        .execute();
      await api.db
        .updateTable('email_queue')
        .set({ lease_until: changes.lease_until })
        .where('project_id', '=', projectId)
        .execute();
    };
    const leased = (lease: string) => settle({ status: 'SENDING', lease_until: new Date(lease) });
    await leased('2099-01-01');
    const sending = await ask('DELETE', `/providers/${id}`);
    expect(sending.body.error.details).toMatchObject({ sending: 1, unknown: 0 });
    await leased('2020-01-01');
    const unknown = await ask('DELETE', `/providers/${id}`);
    expect(unknown.body.error.details).toMatchObject({ sending: 0, unknown: 1 });
    await settle({ status: 'PENDING', lease_until: null });
    expect((await ask('DELETE', `/providers/${id}`)).status).toBe(204);
    expect(refusal(await ask('GET', `/providers/${id}`))).toEqual([404, 'PROVIDER_NOT_FOUND']);
  });

  it('deletes its circuit and the tokens of its rate limit, and of no other provider', async () => {
    const { ask, add } = await newProject();
    const [{ id }, { id: other }] = [await add(), await add({ name: 'Other' })];
    for (const one of [id, other]) await insertProviderState(api.db, one);
    expect((await ask('DELETE', `/providers/${id}`)).status).toBe(204);
    expect(await countProviderState(api.db, id)).toBe(0);
    expect(await countProviderState(api.db, other)).toBe(2);
  });
});

describe('a mail provider', () => {
  it('is unknown to other projects', async () => {
    const { add } = await newProject();
    const { id } = await add();
    const { ask } = await newProject();
    for (const [method, body] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const) {
      const answer = await ask(method, `/providers/${id}`, body);
      expect(refusal(answer)).toEqual([404, 'PROVIDER_NOT_FOUND']);
      expect(refusal(await ask(method, '/providers/backup', body))).toEqual([
        404,
        'PROVIDER_NOT_FOUND',
      ]);
      const wrong = await ask(method, '/providers/No-Id', body);
      expect(refusal(wrong)).toEqual([422, 'VALIDATION_ERROR', 'id invalid_string']);
    }
  });

  it('of the installation can be read, but not changed', async () => {
    const { ask } = await newProject();
    expect((await ask('GET', '/providers/default')).body).toMatchObject({ id: 'default' });
    const change = await ask('PATCH', '/providers/default', { enabled: false });
    expect(refusal(change)).toEqual([403, 'FORBIDDEN']);
    expect(refusal(await ask('DELETE', '/providers/default'))).toEqual([403, 'FORBIDDEN']);
  });

  it('is changed by ADMINs only, and read by every member', async () => {
    const { id: projectId, cookie, publicKey, add } = await newProject();
    const { id } = await add();
    const member = await api.signUp();
    const given = { cookie, headers: { 'X-Project-Id': projectId } };
    await api.request('POST', `/projects/${projectId}/members`, {
      ...given,
      body: { email: member.email, role: 'MEMBER' },
    });
    const as = (method: string, path: string, body?: unknown) =>
      api.request(method, path, { ...given, cookie: member.cookie, body });
    expect((await as('GET', '/providers')).status).toBe(200);
    expect((await as('GET', `/providers/${id}`)).status).toBe(200);
    for (const answer of [
      await as('POST', '/providers', postmark),
      await as('PATCH', `/providers/${id}`, { enabled: false }),
      await as('DELETE', `/providers/${id}`),
    ]) {
      expect(refusal(answer)).toEqual([403, 'INSUFFICIENT_ROLE']);
    }
    const open = await api.request('GET', '/providers', { key: publicKey });
    expect(refusal(open)).toEqual([401, 'INVALID_API_KEY']);
  });
});

describe('a provider of MAIL_PROVIDERS_FILE', async () => {
  const file = path.join(tmpdir(), `providers-${randomUUID()}.json`);
  const feedbackToken = 'a-token-of-more-than-32-characters';
  const backup = { ...postmark, id: 'backup', name: 'Backup', feedbackToken };
  await writeFile(file, JSON.stringify({ providers: [backup] }));
  const { call } = await useShop({ MAIL_PROVIDERS_FILE: file });
  await rm(file);

  it('is shown to projects without host and user, and cannot be changed or tested', async () => {
    const { body } = await call('GET', '/providers');
    expect(body).toMatchObject([{ id: 'default' }, { id: 'backup' }]);
    expect(body[1]).toEqual({
      id: 'backup',
      scope: 'installation',
      name: 'Backup',
      kind: 'smtp',
      feedback: 'postmark',
      enabled: true,
      reportsDelivery: true,
      state: 'up',
      nextTryAt: null,
    });
    expect((await call('GET', '/providers/backup')).body).toEqual(body[1]);
    for (const [method, at] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/rotate-token'],
    ] as const) {
      expect(refusal(await call(method, `/providers/backup${at}`, {}))).toEqual([403, 'FORBIDDEN']);
    }
  });

  it('takes the webhooks of its service at its address', async () => {
    const at = (token: string) => call('POST', `/webhooks/providers/backup/${token}`, []);
    expect((await at(feedbackToken)).body).toEqual({ success: true, applied: 0, ignored: 0 });
    expect(refusal(await at(`${feedbackToken}x`))).toEqual([404, 'PROVIDER_NOT_FOUND']);
  });
});
