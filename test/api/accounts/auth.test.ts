import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { keyId } from '../../../providers/encryption.ts';
import { describe, expect, it } from 'vitest';
import { cookieOf, useApi } from '../../support/api.ts';
import { useDnsServer } from '../../support/fakes/dns-server.ts';

const api = await useApi({ DASHBOARD_URL: 'http://localhost:3000' });

const password = 'a good password';
const signUp = (body: unknown) => api.request('POST', '/auth/signup', { body });
const logIn = (body: unknown, on = api) => on.request('POST', '/auth/login', { body });
const me = (cookie: string) => api.request('GET', '/users/@me', { cookie });
const newEmail = () => `${randomUUID()}@users.test`;

describe('POST /auth/signup', () => {
  it('answers the account and a cookie that works', async () => {
    const made = await signUp({ email: ' Ada@Users.TEST ', password });
    expect(made.status).toBe(200);
    expect(made.body).toEqual({
      success: true,
      data: { id: expect.any(String), email: 'ada@users.test' },
    });
    const user = await me(cookieOf(made));
    expect(user.status).toBe(200);
    expect(user.body).toEqual({
      id: made.body.data.id,
      email: 'ada@users.test',
      type: 'PASSWORD',
      emailVerified: true,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    });
  });

  it('sets the cookie for seven days, out of reach of scripts and other sites', async () => {
    const made = await signUp({ email: newEmail(), password });
    const [name, ...attributes] = (made.headers.get('set-cookie') ?? '').split('; ');
    expect(name).toMatch(/^everpost_session=[\w.-]+$/);
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Lax']);
  });

  it('refuses an address that has an account, in any spelling, with 409 EMAIL_TAKEN', async () => {
    const email = newEmail();
    await signUp({ email, password });
    const again = await signUp({ email: email.toUpperCase(), password });
    expect(again.status).toBe(409);
    expect(again.body.error.code).toBe('EMAIL_TAKEN');
  });

  it('makes one account of two sign-ups at once', async () => {
    const email = newEmail();
    const answers = await Promise.all([1, 2].map(() => signUp({ email, password })));
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, 409]);
  });

  it('refuses passwords of 7 and of 257 characters with 422', async () => {
    for (const [length, code] of [
      [7, 'too_small'],
      [257, 'too_big'],
    ] as const) {
      const refused = await signUp({ email: newEmail(), password: 'x'.repeat(length) });
      expect(refused.status).toBe(422);
      expect(refused.body.error.errors).toEqual([
        expect.objectContaining({ field: 'password', code }),
      ]);
    }
  });

  it('keeps passwords only as argon2id', async () => {
    const { userId } = await api.signUp();
    const row = await api.db
      .selectFrom('app_user')
      .select('password_hash')
      .where('id', '=', userId)
      .executeTakeFirstOrThrow();
    expect(row.password_hash).toMatch(/^\$argon2id\$/);
  });

  it('answers 403 SIGNUPS_DISABLED when sign-up is switched off', async () => {
    const closed = await useApi({ DISABLE_SIGNUPS: 'true' });
    const refused = await closed.request('POST', '/auth/signup', {
      body: { email: newEmail(), password },
    });
    expect(refused.status).toBe(403);
    expect(refused.body.error.code).toBe('SIGNUPS_DISABLED');
  });
});

describe('POST /auth/login', () => {
  it('answers the account and a cookie that works', async () => {
    const email = newEmail();
    const made = await signUp({ email, password });
    const answer = await logIn({ email: email.toUpperCase(), password });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ success: true, data: { id: made.body.data.id, email } });
    expect((await me(cookieOf(answer))).status).toBe(200);
  });

  it('answers a wrong password and an unknown address alike with 401 INVALID_CREDENTIALS', async () => {
    const email = newEmail();
    await signUp({ email, password });
    const wrong = await logIn({ email, password: 'another password' });
    const unknown = await logIn({ email: newEmail(), password });
    for (const { status, headers, body } of [wrong, unknown]) {
      expect(status).toBe(401);
      expect(body.error.code).toBe('INVALID_CREDENTIALS');
      expect(headers.get('set-cookie')).toBeNull();
    }
    expect(unknown.body.error.message).toBe(wrong.body.error.message);
  });

  it('refuses the empty password for an account without a password', async () => {
    const email = newEmail();
    await api.db
      .insertInto('app_user')
      .values({ email, type: 'GITHUB_OAUTH', email_verified: true })
      .execute();
    expect((await logIn({ email, password: '' })).status).toBe(422);
    expect((await logIn({ email, password: ' ' })).status).toBe(401);
  });

  it('answers the 11th try within a minute with 429', async () => {
    const limited = await useApi({ RATE_LIMIT_ENABLED: 'true' });
    const statuses = [];
    for (let i = 0; i < 11; i += 1) {
      statuses.push((await logIn({ email: newEmail(), password }, limited)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
  });

  it('refuses even the right password after 10 wrong ones for one address', async () => {
    const limited = await useApi({ RATE_LIMIT_ENABLED: 'true' });
    const { email } = await limited.signUp();
    const otherMinute = () =>
      limited.db.deleteFrom('rate_limit').where('key', 'like', 'auth:%').execute();
    for (let i = 0; i < 10; i += 1) await logIn({ email, password: 'wrong' }, limited);
    await otherMinute();
    const right = await logIn({ email, password: 'a password' }, limited);
    const other = await logIn({ email: newEmail(), password }, limited);
    expect(right.status).toBe(429);
    expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(60);
    expect(other.status).toBe(401);
  });

  it('forgets wrong passwords after a right one', async () => {
    const limited = await useApi({
      RATE_LIMIT_ENABLED: 'true',
      RATE_LIMIT_AUTH_PER_MINUTE: '3',
    });
    const { email } = await limited.signUp();
    const statuses = [];
    for (const tried of ['wrong', 'wrong', 'a password', 'wrong', 'wrong', 'a password']) {
      await limited.db.deleteFrom('rate_limit').where('key', 'like', 'auth:%').execute();
      statuses.push((await logIn({ email, password: tried }, limited)).status);
    }
    expect(statuses).toEqual([401, 401, 200, 401, 401, 200]);
  });
});

describe('GET /auth/logout', () => {
  it('answers true, empties the cookie and ends all sessions of the user', async () => {
    const { email, cookie } = await api.signUp();
    const second = cookieOf(await logIn({ email, password: 'a password' }));
    const out = await api.request('GET', '/auth/logout', { cookie });
    expect(out.status).toBe(200);
    expect(out.body).toBe(true);
    expect(out.headers.get('set-cookie')).toMatch(/^everpost_session=; .*Max-Age=0/);
    for (const old of [cookie, second]) {
      const refused = await me(old);
      expect(refused.status).toBe(401);
      expect(refused.body.error.code).toBe('UNAUTHORIZED');
    }
    expect((await me(cookieOf(await logIn({ email, password: 'a password' })))).status).toBe(200);
  });

  it('answers the same without a cookie', async () => {
    const out = await api.request('GET', '/auth/logout');
    expect([out.status, out.body]).toEqual([200, true]);
  });

  it.each([
    ['/auth/logout', 'cross-site'],
    ['/auth/logout/', 'Cross-Site'],
    ['/AUTH/LOGOUT', 'cross-site'],
    ['/auth/logout', 'same-site'],
    ['/auth/logout', 'something-new'],
  ])(
    'refuses another site at %s (%s) with 403 ORIGIN_NOT_ALLOWED and keeps the session',
    async (path, site) => {
      const { cookie } = await api.signUp();
      const headers = { 'Sec-Fetch-Site': site };
      const refused = await api.request('GET', path, { cookie, headers });
      expect(refused.status).toBe(403);
      expect(refused.body.error.code).toBe('ORIGIN_NOT_ALLOWED');
      expect((await me(cookie)).status).toBe(200);
    },
  );

  it.each(['same-origin', 'none'])('is done for Sec-Fetch-Site: %s', async (site) => {
    const { cookie } = await api.signUp();
    const headers = { 'Sec-Fetch-Site': site };
    expect((await api.request('GET', '/auth/logout', { cookie, headers })).status).toBe(200);
    expect((await me(cookie)).status).toBe(401);
  });
});

describe('GET /auth/logout from another host of the same site', () => {
  const logOut = async (from: Record<string, string>) => {
    const { cookie } = await api.signUp();
    const headers = { 'Sec-Fetch-Site': 'same-site', ...from };
    const { status } = await api.request('GET', '/auth/logout', { cookie, headers });
    return [status, (await me(cookie)).status];
  };

  it('is done for the dashboard alone', async () => {
    const { origin } = new URL(api.services.config.dashboardUrl);
    expect(await logOut({ Origin: origin })).toEqual([200, 401]);
    expect(await logOut({ Referer: `${origin}/settings` })).toEqual([200, 401]);
    expect(await logOut({ Origin: 'http://evil.localhost' })).toEqual([403, 200]);
  });
});

describe('a session cookie', () => {
  const secret = () => new TextEncoder().encode(api.services.config.jwtSecret);
  const token = (claims: Record<string, unknown>, alg = 'HS256', expires = '1h') =>
    new SignJWT(claims)
      .setProtectedHeader({ alg, kid: keyId(api.services.config.jwtSecret) })
      .setIssuedAt()
      .setExpirationTime(expires)
      .sign(secret());
  /** The claims of a user's only session. */
  const claimsOf = async (userId: string) => {
    const { id, version } = await api.db
      .selectFrom('session')
      .select(['id', 'version'])
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow();
    return { id: userId, sv: version, sid: id };
  };
  const refused = async (value: string) => {
    const answer = await me(`everpost_session=${value}`);
    expect(answer.status).toBe(401);
    expect(answer.body.error.code).toBe('UNAUTHORIZED');
  };

  it('is refused without a signature', async () => {
    const { userId } = await api.signUp();
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { ...(await claimsOf(userId)), exp: Math.floor(Date.now() / 1000) + 3600 };
    await refused(`${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`);
  });

  it('is refused with another algorithm than HS256', async () => {
    const { userId } = await api.signUp();
    await refused(await token(await claimsOf(userId), 'HS512'));
  });

  it('is refused when it is expired, of another version, of another user, or names no session', async () => {
    const { userId } = await api.signUp();
    const claims = await claimsOf(userId);
    await refused(await token(claims, 'HS256', '-1s'));
    await refused(await token({ ...claims, sv: 2 }));
    await refused(await token({ ...claims, id: randomUUID() }));
    await refused(await token({ ...claims, sid: randomUUID() }));
    await refused(await token({ ...claims, sid: undefined }));
    await refused('nonsense');
  });

  it('is accepted when all is right', async () => {
    const { userId } = await api.signUp();
    const answer = await me(`everpost_session=${await token(await claimsOf(userId))}`);
    expect(answer.status).toBe(200);
  });

  it('does not work for writes that other sites make the browser send', async () => {
    const { cookie } = await api.signUp();
    const post = (headers: Record<string, string>) =>
      api.request('POST', '/users/@me/projects', { cookie, headers, body: { name: 'Shop' } });
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Referer: 'https://evil.example/page' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      const answer = await post(headers);
      expect([headers, answer.status, answer.body.error?.code]).toEqual([
        headers,
        403,
        'ORIGIN_NOT_ALLOWED',
      ]);
    }
    for (const headers of [
      { Origin: api.url },
      { Origin: 'http://localhost:3000' },
      { Referer: 'http://localhost:3000/projects' },
    ]) {
      expect((await post(headers as Record<string, string>)).status).toBe(201);
    }
  });
});

describe('with VERIFY_EMAIL_ON_SIGNUP', () => {
  it('refuses throw-away addresses and domains without mail with 422 INVALID_EMAIL', async () => {
    const dns = await useDnsServer();
    const careful = await useApi({ VERIFY_EMAIL_ON_SIGNUP: '1', DNS_SERVERS: dns.address });
    for (const name of ['shop.dev', 'mailinator.com']) {
      dns.publish(name, 'MX', { exchange: `mx.${name}`, preference: 10 });
    }
    dns.publish('website.dev', 'A', '192.0.2.1');
    const statuses: unknown[] = [];
    for (const domain of ['shop.dev', 'mailinator.com', 'website.dev', 'missing.dev']) {
      const email = `${randomUUID()}@${domain}`;
      const { status, body } = await careful.request('POST', '/auth/signup', {
        body: { email, password },
      });
      statuses.push([domain, status, body.error?.code]);
    }
    expect(statuses).toEqual([
      ['shop.dev', 200, undefined],
      ['mailinator.com', 422, 'INVALID_EMAIL'],
      ['website.dev', 422, 'INVALID_EMAIL'],
      ['missing.dev', 422, 'INVALID_EMAIL'],
    ]);
  });
});
