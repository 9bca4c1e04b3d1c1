import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { codeOf, cookieOf, useApi } from '../../support/api.ts';
import { addAuthenticator, cookiesOf } from '../../support/second-factor.ts';
import { sessionSince } from '../../support/sessions.ts';

const api = await useApi({ PLATFORM_FROM_ADDRESS: 'everpost@platform.test' });
const password = 'a password';

const logIn = (email: string, given = password) =>
  api.request('POST', '/auth/login', { body: { email, password: given } });
const prove = (cookie: string, body: object) =>
  api.request('POST', '/auth/second-factor', { cookie, body });
const me = (cookie: string) => api.request('GET', '/users/@me', { cookie });
const factorsOf = async (cookie: string) =>
  (await api.request('GET', '/users/@me/factors', { cookie })).body;
const eventsOf = async (userId: string) => {
  const rows = await api.db
    .selectFrom('security_event')
    .select(['event', 'details'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute();
  return rows.map(({ event, details }) => ({ event, details }));
};

async function userWithApp() {
  const user = await api.signUp();
  await sql`update app_user set email_verified = true where id = ${user.userId}`.execute(api.db);
  const app = await addAuthenticator(api, user.cookie);
  return { ...user, app, cookie: app.cookie, former: user.cookie };
}

describe('an authenticator app', () => {
  it('counts once its first code was right, which shows ten recovery codes', async () => {
    const { cookie } = await api.signUp();
    const begun = await api.request('POST', '/users/@me/factors/totp', { cookie, body: {} });
    expect([begun.status, begun.body.secret]).toEqual([
      201,
      expect.stringMatching(/^[A-Z2-7]{32}$/),
    ]);
    expect(begun.body.uri).toContain('otpauth://totp/');
    expect(await factorsOf(cookie)).toMatchObject({ factors: [], recoveryCodesLeft: 0 });
    const wrong = await api.request('POST', `/users/@me/factors/totp/${begun.body.id}/confirm`, {
      cookie,
      body: { code: '12' },
    });
    expect(codeOf(wrong)).toEqual([401, 'INVALID_CODE']);
    const app = await addAuthenticator(api, cookie);
    expect(app.recoveryCodes).toHaveLength(10);
    expect(await factorsOf(app.cookie)).toMatchObject({
      factors: [{ id: app.id, type: 'totp', name: 'Authenticator app' }],
      recoveryCodesLeft: 10,
      required: false,
    });
  });

  it('gives this session a factor, and leaves the others without', async () => {
    const { email, cookie } = await api.signUp();
    const other = cookieOf(await logIn(email));
    const app = await addAuthenticator(api, cookie);
    const { body } = await api.request('GET', '/users/@me/sessions', { cookie: app.cookie });
    const shown = body.map(({ current, secondFactor }: Record<string, unknown>) => ({
      current,
      secondFactor,
    }));
    expect(shown).toContainEqual({ current: true, secondFactor: 'totp' });
    expect(shown).toContainEqual({ current: false, secondFactor: null });
    expect((await me(cookie)).status).toBe(401);
    expect((await me(other)).status).toBe(200);
  });

  it('is stored encrypted, and its recovery codes hashed', async () => {
    const { app } = await userWithApp();
    const { rows } = await sql<{ all: string }>`
      select factor::text as all from factor where id = ${app.id}
      union all select recovery_code::text from recovery_code`.execute(api.db);
    const stored = rows.map(({ all }) => all).join();
    for (const secret of [app.secret, ...app.recoveryCodes]) expect(stored).not.toContain(secret);
  });

  it('is told to the user by mail, and written in the log', async () => {
    const { email, userId, app, cookie } = await userWithApp();
    await api.request('DELETE', `/users/@me/factors/${app.id}`, { cookie });
    const { rows } = await sql<{ subject: string }>`
      select subject from system_mail where to_email = ${email}`.execute(api.db);
    expect(rows.map(({ subject }) => subject)).toEqual(
      expect.arrayContaining([
        'A second factor was added to your account',
        'A second factor was removed from your account',
      ]),
    );
    const events = (await eventsOf(userId)).map(({ event }) => event);
    expect(events).toEqual(expect.arrayContaining(['factor.added', 'factor.removed']));
  });
});

describe('a login with a factor set', () => {
  it('is pending until a code was right', async () => {
    const { email, userId, app } = await userWithApp();
    const pending = await logIn(email);
    expect(codeOf(pending)).toEqual([401, 'SECOND_FACTOR_PENDING']);
    expect(pending.body.error.details.methods).toEqual(['totp', 'recovery']);
    expect(pending.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^everpost_sign_in=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Lax/),
    ]);
    const cookie = cookiesOf(pending);
    expect((await me(cookie)).status).toBe(401);
    const proven = await prove(cookie, { code: app.code() });
    expect([proven.status, proven.body.data]).toEqual([200, { id: userId, email }]);
    expect((await me(cookieOf(proven))).status).toBe(200);
    expect((await eventsOf(userId)).at(-1)).toEqual({
      event: 'login.succeeded',
      details: { method: 'password', secondFactor: 'totp' },
    });
  });

  it('takes each code once, also of twenty requests at a time', async () => {
    const { email, app } = await userWithApp();
    const logins = await Promise.all(Array.from({ length: 20 }, () => logIn(email)));
    const code = app.code();
    const proven = await Promise.all(logins.map((login) => prove(cookiesOf(login), { code })));
    expect(proven.filter(({ status }) => status === 200)).toHaveLength(1);
    const again = await prove(cookiesOf(await logIn(email)), { code });
    expect(codeOf(again)).toEqual([401, 'INVALID_CODE']);
    const older = await prove(cookiesOf(await logIn(email)), { code: app.code(-1) });
    expect(codeOf(older)).toEqual([401, 'INVALID_CODE']);
    expect((await prove(cookiesOf(await logIn(email)), { code: app.code(1) })).status).toBe(200);
  });

  it('takes spaces in a code, and the code of the half minute before', async () => {
    const { email, app } = await userWithApp();
    await sql`update factor set used_step = null where id = ${app.id}`.execute(api.db);
    const code = app.code(-1);
    const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
    expect((await prove(cookiesOf(await logIn(email)), { code: spaced })).status).toBe(200);
  });

  it('is over after five wrong codes, and after its use', async () => {
    const { email, app } = await userWithApp();
    const cookie = cookiesOf(await logIn(email));
    for (let index = 0; index < 5; index++) {
      expect(codeOf(await prove(cookie, { code: '000000' }))).toEqual([401, 'INVALID_CODE']);
    }
    expect(codeOf(await prove(cookie, { code: app.code() }))).toEqual([401, 'UNAUTHORIZED']);
    const next = cookiesOf(await logIn(email));
    expect((await prove(next, { code: app.code() })).status).toBe(200);
    expect(codeOf(await prove(next, { code: app.code(1) }))).toEqual([401, 'UNAUTHORIZED']);
  });

  it('is over after five minutes, and when all sessions were ended', async () => {
    const { email, app, cookie: session } = await userWithApp();
    const late = cookiesOf(await logIn(email));
    await sql`update pending_sign_in set expires_at = now() - interval '1 minute'`.execute(api.db);
    expect(codeOf(await prove(late, { code: app.code() }))).toEqual([401, 'UNAUTHORIZED']);
    const ended = cookiesOf(await logIn(email));
    await api.request('GET', '/auth/logout', { cookie: session });
    expect(codeOf(await prove(ended, { code: app.code() }))).toEqual([401, 'UNAUTHORIZED']);
  });

  it('takes a recovery code once, which is told by mail', async () => {
    const { email, userId, app } = await userWithApp();
    const [code = ''] = app.recoveryCodes;
    const written = code.toUpperCase().replace('-', '');
    const logins = [cookiesOf(await logIn(email)), cookiesOf(await logIn(email))];
    const proven = await Promise.all(
      logins.map((cookie) => prove(cookie, { recoveryCode: written })),
    );
    expect(proven.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    const session = proven.find(({ status }) => status === 200)!;
    expect((await factorsOf(cookieOf(session))).recoveryCodesLeft).toBe(9);
    const { rows } = await sql`select from system_mail where to_email = ${email}
      and subject = 'A recovery code of your account was used'`.execute(api.db);
    expect(rows).toHaveLength(1);
    const events = (await eventsOf(userId)).map(({ event }) => event);
    expect(events).toContain('recovery_code.used');
  });

  it('says what a proof needs', async () => {
    const { email } = await userWithApp();
    const cookie = cookiesOf(await logIn(email));
    expect(codeOf(await prove(cookie, {}))).toEqual([422, 'VALIDATION_ERROR']);
    expect(codeOf(await prove('', { code: '000000' }))).toEqual([401, 'UNAUTHORIZED']);
  });
});

describe('a factor of a session', () => {
  it('is proven later, which makes the session fresh', async () => {
    const { userId, app, cookie: first } = await userWithApp();
    const { id } = await api.createProject(first);
    const old = await sessionSince(api, userId, 200);
    const path = `/users/@me/projects/${id}/regenerate-keys`;
    const refused = await api.request('POST', path, { cookie: old });
    expect(codeOf(refused)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    expect(refused.body.error.details.methods).toEqual(['password', 'totp']);
    const proven = await prove(old, { code: app.code() });
    expect(proven.status).toBe(200);
    const cookie = cookieOf(proven);
    expect((await api.request('POST', path, { cookie })).status).toBe(200);
    expect((await me(old)).status).toBe(401);
  });

  it('is needed to remove factors and to renew the codes', async () => {
    const { email, app, cookie } = await userWithApp();
    const { rows } = await sql<{ id: string }>`
      update session set second_factor = null
        where user_id = (select id from app_user where email = ${email}) returning id`.execute(
      api.db,
    );
    expect(rows.length).toBeGreaterThan(0);
    const path = `/users/@me/factors/${app.id}`;
    const refused = await api.request('DELETE', path, { cookie });
    expect(codeOf(refused)).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    expect(refused.body.error.details).toEqual({ enrolled: true });
    const codes = await api.request('POST', '/users/@me/recovery-codes', { cookie });
    expect(codeOf(codes)).toEqual([403, 'SECOND_FACTOR_REQUIRED']);
    const again = cookieOf(await prove(cookie, { code: app.code() }));
    const renewed = await api.request('POST', '/users/@me/recovery-codes', { cookie: again });
    expect(renewed.body.recoveryCodes).toHaveLength(10);
    expect(codeOf(await prove(again, { recoveryCode: app.recoveryCodes[0] }))).toEqual([
      401,
      'INVALID_CODE',
    ]);
    expect((await api.request('DELETE', path, { cookie: again })).status).toBe(204);
    expect(await factorsOf(again)).toEqual({ factors: [], recoveryCodesLeft: 0, required: false });
    expect((await logIn(email)).status).toBe(200);
  });

  it('belongs to no other account', async () => {
    const { app } = await userWithApp();
    const { cookie } = await api.signUp();
    const path = `/users/@me/factors/${app.id}`;
    const body = { name: 'Mine' };
    expect(codeOf(await api.request('PATCH', path, { cookie, body }))).toEqual([
      404,
      'FACTOR_NOT_FOUND',
    ]);
  });
});

it('a reset of the password removes no factor', async () => {
  const { email, userId } = await userWithApp();
  await sql`update app_user set session_version = session_version + 1 where id = ${userId}`.execute(
    api.db,
  );
  expect(codeOf(await logIn(email))).toEqual([401, 'SECOND_FACTOR_PENDING']);
});

it('adding a factor needs a recent login', async () => {
  const { userId } = await api.signUp();
  const cookie = await sessionSince(api, userId, 121);
  const begun = await api.request('POST', '/users/@me/factors/totp', { cookie, body: {} });
  expect(codeOf(begun)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
});

it('wrong codes count as wrong passwords, also with the right password before each', async () => {
  const limited = await useApi({ RATE_LIMIT_ENABLED: 'true' });
  const { email, cookie } = await limited.signUp();
  await addAuthenticator(limited, cookie);
  const statuses: number[] = [];
  for (let index = 0; index < 8; index++) {
    const login = await limited.request('POST', '/auth/login', { body: { email, password } });
    const guess = await limited.request('POST', '/auth/second-factor', {
      cookie: cookiesOf(login),
      body: { code: '000000' },
    });
    statuses.push(login.status, guess.status);
  }
  expect(statuses.slice(-2)).toContain(429);
});
