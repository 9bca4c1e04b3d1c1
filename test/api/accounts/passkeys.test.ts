import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, cookieOf, type TestAnswer, useApi } from '../../support/api.ts';
import { makePasskey } from '../../support/passkey.ts';
import { addAuthenticator, cookiesOf } from '../../support/second-factor.ts';

const origin = 'https://app.shop.test';
const api = await useApi({ DASHBOARD_URL: origin });

const post = (path: string, cookie: string, body?: unknown) =>
  api.request('POST', path, { cookie, ...(body !== undefined && { body }) });

/** Registers a passkey for the account of a session. */
async function register(cookie: string, passkey = makePasskey(origin, 'app.shop.test')) {
  const options = await post('/users/@me/factors/passkey/options', cookie);
  expect(options.status).toBe(200);
  const both = `${cookie}; ${cookiesOf(options)}`;
  const answer = passkey.create(options.body);
  const added = await post('/users/@me/factors/passkey', both, { response: answer });
  return { passkey, added, both, answer };
}

async function userWithPasskey() {
  const user = await api.signUp();
  const { passkey, added } = await register(user.cookie);
  expect(added.status).toBe(201);
  return { ...user, passkey, cookie: cookieOf(added) };
}

type Passkey = ReturnType<typeof makePasskey>;

async function logIn(passkey: Passkey, faults: Parameters<Passkey['get']>[1] = {}, cookie = '') {
  const options = await post('/auth/passkey/options', cookie, {});
  const both = [cookie, cookiesOf(options)].filter(Boolean).join('; ');
  const response = passkey.get(options.body.data, faults);
  const used = await post('/auth/passkey', both, { response });
  return { options, used, both, response };
}

const currentOf = async (answer: TestAnswer) => {
  const { body } = await api.request('GET', '/users/@me/sessions', { cookie: cookieOf(answer) });
  return body.find(({ current }: { current: boolean }) => current);
};

describe('a passkey', () => {
  it('is added with recovery codes, and logs in alone, with a factor', async () => {
    const { email, userId, cookie } = await api.signUp();
    const { passkey, added } = await register(cookie);
    expect([added.status, added.body.factor.type]).toEqual([201, 'passkey']);
    expect(added.body.recoveryCodes).toHaveLength(10);
    const { options, used } = await logIn(passkey);
    expect(options.body.data).toMatchObject({
      rpId: 'app.shop.test',
      userVerification: 'required',
      allowCredentials: [],
    });
    expect([used.status, used.body.data]).toEqual([200, { id: userId, email }]);
    expect(await currentOf(used)).toMatchObject({ method: 'passkey', secondFactor: 'passkey' });
  });

  it('asks for options that need verification and no attestation', async () => {
    const { cookie } = await userWithPasskey();
    const { body } = await post('/users/@me/factors/passkey/options', cookie);
    expect(body).toMatchObject({
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      excludeCredentials: [{ type: 'public-key' }],
    });
    expect(Buffer.from(body.challenge, 'base64url')).toHaveLength(32);
  });

  it('belongs to one account, and its options are answered once', async () => {
    const { cookie } = await api.signUp();
    const { passkey, added, answer, both } = await register(cookie);
    const session = cookieOf(added);
    const again = both.replace(cookie, session);
    const repeated = await post('/users/@me/factors/passkey', again, { response: answer });
    expect(codeOf(repeated)).toEqual([400, 'INVALID_PASSKEY']);
    const other = await api.signUp();
    expect(codeOf((await register(other.cookie, passkey)).added)).toEqual([409, 'CONFLICT']);
  });

  it.each([
    ['another origin', { origin: 'https://evil.test' }],
    ['another host', { rpId: 'evil.test' }],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['no verification of the user', { isVerified: false }],
  ])('is neither added nor accepted with %s', async (_, faults) => {
    const { cookie, passkey } = await userWithPasskey();
    const options = await post('/users/@me/factors/passkey/options', cookie);
    const made = makePasskey(origin, 'app.shop.test').create(options.body, faults);
    const added = await post('/users/@me/factors/passkey', `${cookie}; ${cookiesOf(options)}`, {
      response: made,
    });
    expect(codeOf(added)).toEqual([400, 'INVALID_PASSKEY']);
    expect(codeOf((await logIn(passkey, faults)).used)).toEqual([401, 'INVALID_CREDENTIALS']);
    expect((await logIn(passkey)).used.status).toBe(200);
  });

  it('is refused when its counter does not rise, which is a security event', async () => {
    const { passkey, userId } = await userWithPasskey();
    expect((await logIn(passkey, { counter: 10 })).used.status).toBe(200);
    for (const counter of [10, 3]) {
      expect(codeOf((await logIn(passkey, { counter })).used)).toEqual([
        401,
        'INVALID_CREDENTIALS',
      ]);
    }
    await expect
      .poll(async () => {
        const { rows } = await sql`select from security_event
          where user_id = ${userId} and event = 'passkey.cloned'`.execute(api.db);
        return rows.length;
      })
      .toBe(2);
    expect((await logIn(passkey, { counter: 11 })).used.status).toBe(200);
  });

  it('logs in once with each challenge, also of two requests at a time', async () => {
    const { passkey } = await userWithPasskey();
    const options = await post('/auth/passkey/options', '', {});
    const cookie = cookiesOf(options);
    const answers = [passkey.get(options.body.data), passkey.get(options.body.data)];
    const used = await Promise.all(
      answers.map((response) => post('/auth/passkey', cookie, { response })),
    );
    expect(used.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    const without = await post('/auth/passkey', '', { response: answers[0] });
    expect(codeOf(without)).toEqual([401, 'INVALID_CREDENTIALS']);
  });

  it('does not sign in an address that is kept to an identity provider', async () => {
    const { passkey, email } = await userWithPasskey();
    const { config } = api.services;
    const { oidc } = config;
    const corp = { id: 'corp', required: true, domains: [email.split('@')[1]] };
    Object.assign(config, { oidc: [corp] });
    const { used } = await logIn(passkey);
    Object.assign(config, { oidc });
    expect(codeOf(used)).toEqual([403, 'SSO_REQUIRED']);
    expect(used.body.error.details).toEqual({ provider: 'corp' });
  });

  it('unknown to the server is refused', async () => {
    const { used } = await logIn(makePasskey(origin, 'app.shop.test'));
    expect(codeOf(used)).toEqual([401, 'INVALID_CREDENTIALS']);
  });
});

describe('a passkey as the second factor', () => {
  it('completes a login with a password, only that of its user', async () => {
    const { email, passkey } = await userWithPasskey();
    const stranger = await userWithPasskey();
    const login = await api.request('POST', '/auth/login', {
      body: { email, password: 'a password' },
    });
    expect(login.body.error.details.methods).toEqual(['passkey', 'recovery']);
    const pending = cookiesOf(login);
    const foreign = await logIn(stranger.passkey, {}, pending);
    expect(codeOf(foreign.used)).toEqual([401, 'INVALID_CREDENTIALS']);
    expect(foreign.options.body.data.allowCredentials).toHaveLength(1);
    const { used } = await logIn(passkey, {}, pending);
    expect(used.status).toBe(200);
    expect(await currentOf(used)).toMatchObject({ method: 'password', secondFactor: 'passkey' });
  });

  it('is added to a session, and never changes its user', async () => {
    const { userId, cookie } = await api.signUp();
    const app = await addAuthenticator(api, cookie);
    const { added, passkey } = await register(app.cookie);
    expect([added.status, added.body.recoveryCodes]).toEqual([201, null]);
    const stranger = await userWithPasskey();
    const session = cookieOf(added);
    expect(codeOf((await logIn(stranger.passkey, {}, session)).used)).toEqual([
      401,
      'INVALID_CREDENTIALS',
    ]);
    const { used } = await logIn(passkey, {}, session);
    expect(used.body.data.id).toBe(userId);
  });
});
