import { randomInt, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createOAuth } from '../../../providers/login/oauth.ts';
import { useApi, type TestAnswer, type TestApi } from '../../support/api.ts';
import { useFakeOAuth } from '../../support/fakes/oauth.ts';

const fake = await useFakeOAuth();
const api = await startWith();
beforeEach(() => {
  fake.user = {
    id: String(randomInt(2 ** 40)),
    email: `${randomUUID()}@users.test`,
    verified: true,
  };
});

/** Starts an API whose GitHub and Google are the fake provider. */
async function startWith(overrides: Record<string, string> = {}): Promise<TestApi> {
  const { id, secret } = fake.client;
  const started = await useApi({
    DASHBOARD_URL: 'https://app.shop.example',
    GITHUB_OAUTH_CLIENT: id,
    GITHUB_OAUTH_SECRET: secret,
    GOOGLE_OAUTH_CLIENT: id,
    GOOGLE_OAUTH_SECRET: secret,
    ...overrides,
  });
  started.services.oauth = createOAuth(started.services.config.oauth, fake);
  return started;
}

const dashboard = 'https://app.shop.example';
const cookiesOf = ({ headers }: TestAnswer) =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .join('; ');

/** Goes to the provider and back, as a browser does. */
async function logIn(provider: string, on = api, change = (url: URL) => url) {
  const left = await on.request('GET', `/oauth/${provider}/outbound`);
  expect(left.status).toBe(302);
  const there = await fetch(left.headers.get('location') ?? '', { redirect: 'manual' });
  const back = change(new URL(there.headers.get('location') ?? ''));
  return on.request('GET', `${back.pathname}${back.search}`, { cookie: cookiesOf(left) });
}

const me = (answer: TestAnswer) => api.request('GET', '/users/@me', { cookie: cookiesOf(answer) });

describe('GET /auth/oauth-config', () => {
  it('answers which ways there are', async () => {
    const { status, body } = await api.request('GET', '/auth/oauth-config');
    expect([status, body]).toEqual([200, { success: true, data: { github: true, google: true } }]);
    const bare = await useApi();
    const none = await bare.request('GET', '/auth/oauth-config');
    const refused = await Promise.all(
      ['github', 'google'].flatMap((provider) =>
        ['outbound', 'callback'].map((way) => bare.request('GET', `/oauth/${provider}/${way}`)),
      ),
    );
    expect(none.body.data).toEqual({ github: false, google: false });
    for (const { status: refusal, body: reason } of refused) {
      expect([refusal, reason.error.code]).toEqual([404, 'OAUTH_NOT_CONFIGURED']);
    }
  });
});

describe.each([
  ['github', 'GITHUB_OAUTH'],
  ['google', 'GOOGLE_OAUTH'],
])('login by %s', (provider, type) => {
  it('makes an account, and finds it again', async () => {
    const first = await logIn(provider);
    expect([first.status, first.headers.get('location')]).toEqual([302, dashboard]);
    const user = await me(first);
    expect(user.body).toMatchObject({ email: fake.user.email, type, emailVerified: true });
    const second = await me(await logIn(provider));
    expect(second.body.id).toBe(user.body.id);
    expect(fake.refusals).toEqual([]);
  });

  it('knows a user whose address has changed there', async () => {
    const first = await me(await logIn(provider));
    fake.user = { ...fake.user, email: `${randomUUID()}@users.test` };
    const second = await me(await logIn(provider));
    expect(second.body).toEqual(first.body);
  });

  it('refuses an address whose account was made another way with wrong_method', async () => {
    await api.signUp(fake.user.email);
    const refused = await logIn(provider);
    expect(refused.headers.get('location')).toBe(`${dashboard}/auth/login?error=wrong_method`);
    expect((await me(refused)).status).toBe(401);
  });

  it('takes over an unverified account with the address', async () => {
    const hosted = await startWith({ PLATFORM_FROM_ADDRESS: 'noreply@platform.test' });
    const { email } = fake.user;
    const attacker = await hosted.signUp(email);
    const answer = await logIn(provider, hosted);
    const user = await hosted.request('GET', '/users/@me', { cookie: cookiesOf(answer) });
    const again = await logIn(provider, hosted);
    const session = await hosted.request('GET', '/users/@me', { cookie: attacker.cookie });
    const body = { email, password: 'a password' };
    const login = await hosted.request('POST', '/auth/login', { body });
    expect([answer.headers.get('location'), user.body]).toEqual([
      dashboard,
      expect.objectContaining({ id: attacker.userId, email, type, emailVerified: true }),
    ]);
    expect(again.headers.get('location')).toBe(dashboard);
    expect([session.status, login.status]).toEqual([401, 401]);
  });

  it('takes none where sign-up is switched off', async () => {
    const closed = await startWith({ PLATFORM_FROM_ADDRESS: 'noreply@platform.test' });
    const { userId, cookie } = await closed.signUp(fake.user.email);
    closed.services.config.signupsEnabled = false;
    const refused = await logIn(provider, closed);
    const user = await closed.request('GET', '/users/@me', { cookie });
    expect(refused.headers.get('location')).toBe(`${dashboard}/auth/login?error=signups_disabled`);
    expect(user.body).toMatchObject({ id: userId, type: 'PASSWORD' });
  });

  it('refuses another user who now owns the address of an account', async () => {
    await logIn(provider);
    fake.user = { ...fake.user, id: String(randomInt(2 ** 40)) };
    const refused = await logIn(provider);
    expect(refused.headers.get('location')).toBe(`${dashboard}/auth/login?error=wrong_method`);
  });

  it('refuses an address the provider has not verified with oauth_failed', async () => {
    fake.user = { ...fake.user, verified: false };
    const refused = await logIn(provider);
    expect(refused.headers.get('location')).toBe(`${dashboard}/auth/login?error=oauth_failed`);
  });

  it('makes no account where sign-up is switched off, but logs in who has one', async () => {
    const closed = await startWith({ DISABLE_SIGNUPS: 'true' });
    const refused = await logIn(provider, closed);
    expect(refused.headers.get('location')).toBe(`${dashboard}/auth/login?error=signups_disabled`);
  });

  it('refuses what was not begun in this browser with oauth_failed', async () => {
    const failed = `${dashboard}/auth/login?error=oauth_failed`;
    const foreign = await logIn(provider, api, (url) => {
      url.searchParams.set('state', 'x'.repeat(43));
      return url;
    });
    expect(foreign.headers.get('location')).toBe(failed);
    const denied = await logIn(provider, api, (url) => {
      url.searchParams.delete('code');
      url.searchParams.set('error', 'access_denied');
      return url;
    });
    expect(denied.headers.get('location')).toBe(failed);
    const bare = await api.request('GET', `/oauth/${provider}/callback`);
    expect([bare.status, bare.headers.get('location')]).toEqual([302, failed]);
    const guessed = await logIn(provider, api, (url) => {
      url.searchParams.set('code', 'guessed');
      return url;
    });
    expect(guessed.headers.get('location')).toBe(failed);
    expect(fake.refusals.splice(0)).toEqual(['guessed']);
  });

  it('keeps the state in a cookie no script can read', async () => {
    const { headers } = await api.request('GET', `/oauth/${provider}/outbound`);
    const [cookie = ''] = headers.getSetCookie();
    expect(cookie).toMatch(
      /^everpost_oauth=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
  });

  it('cannot be used with a password', async () => {
    const { email } = fake.user;
    await logIn(provider);
    const refused = await api.request('POST', '/auth/login', { body: { email, password: 'x' } });
    expect([refused.status, refused.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS']);
  });
});
