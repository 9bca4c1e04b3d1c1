import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { signRightly, useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import type { TestAnswer } from '../../../support/api.ts';
import {
  dashboard,
  errorOf,
  providerOf,
  signInAt,
  useOidcApi,
} from '../../../support/fakes/oidc.ts';
import { addAuthenticator, cookiesOf } from '../../../support/second-factor.ts';

const issuer = await useOidcIssuer();
const api = await useOidcApi([providerOf(issuer)]);
const newUser = () => ({
  sub: randomUUID(),
  email: `${randomUUID()}@corp.example`,
  email_verified: true,
});
beforeEach(() => {
  issuer.user = newUser();
  issuer.claims = {};
  issuer.userinfo = {};
  issuer.sign = signRightly;
});

const me = (answer: TestAnswer, on = api) =>
  on.request('GET', '/users/@me', { cookie: cookiesOf(answer) });

describe('GET /auth/methods', () => {
  it('lists the providers by id and name, and nothing else of them', async () => {
    const { body } = await api.request('GET', '/auth/methods');
    expect(body.data).toEqual({
      password: true,
      signUp: true,
      passkey: expect.any(Boolean),
      github: false,
      google: false,
      oidc: [{ id: 'corp', name: 'Corp' }],
    });
    const former = await api.request('GET', '/auth/oauth-config');
    expect(former.body.data).toEqual({ github: false, google: false });
  });
});

describe('GET /oauth/oidc/{provider}/outbound', () => {
  it('redirects to the provider with new secrets each time', async () => {
    const left = await Promise.all(
      [1, 2].map(() => api.request('GET', '/oauth/oidc/corp/outbound?fresh=true')),
    );
    const [first, second] = left.map(({ headers }) => new URL(headers.get('location') ?? ''));
    expect(first?.href).toContain(`${issuer.url}/authorize?`);
    expect(Object.fromEntries(first?.searchParams ?? [])).toEqual({
      response_type: 'code',
      client_id: 'everpost',
      redirect_uri: `${api.url}/oauth/oidc/corp/callback`,
      scope: 'openid email profile',
      state: expect.any(String),
      nonce: expect.any(String),
      code_challenge: expect.any(String),
      code_challenge_method: 'S256',
      prompt: 'login',
      max_age: '0',
    });
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect(first?.searchParams.get(name)).not.toBe(second?.searchParams.get(name));
    }
    expect(left[0]?.headers.getSetCookie()[0]).toMatch(
      /^everpost_oidc=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
    );
  });

  it('returns 404 for an unknown provider', async () => {
    for (const way of ['outbound', 'callback']) {
      const { status, body } = await api.request('GET', `/oauth/oidc/other/${way}`);
      expect([status, body.error.code]).toEqual([404, 'OAUTH_NOT_CONFIGURED']);
    }
  });
});

describe('signing in by a provider', () => {
  it('makes an account, and finds it again by its subject, not by its address', async () => {
    const first = await signInAt(api, issuer);
    expect([first.status, first.headers.get('location')]).toEqual([302, dashboard]);
    const user = await me(first);
    const { email } = issuer.user;
    expect(user.body).toMatchObject({ email, type: 'OIDC', emailVerified: true });
    issuer.user = { ...issuer.user, email: `${randomUUID()}@corp.example` };
    expect((await me(await signInAt(api, issuer))).body).toEqual(user.body);
  });

  it('reads claims that the ID token lacks from the userinfo endpoint', async () => {
    const { sub, ...userinfo } = newUser();
    Object.assign(issuer, { user: { sub }, userinfo });
    expect((await me(await signInAt(api, issuer))).body.email).toBe(userinfo.email);
    issuer.user = { sub: randomUUID() };
    issuer.userinfo = { ...newUser(), sub: 'another' };
    expect(errorOf(await signInAt(api, issuer))).toBe('oauth_failed');
  });

  it('refuses another user with the same address with wrong_method', async () => {
    await signInAt(api, issuer);
    issuer.user = { ...issuer.user, sub: randomUUID() };
    expect(errorOf(await signInAt(api, issuer))).toBe('wrong_method');
    issuer.user = newUser();
    await api.signUp(String(issuer.user['email']));
    expect(errorOf(await signInAt(api, issuer))).toBe('wrong_method');
  });

  it('makes one account when a user signs in twice at once', async () => {
    const both = await Promise.all([signInAt(api, issuer), signInAt(api, issuer)]);
    const [first, second] = await Promise.all(both.map((one) => me(one)));
    expect([first?.status, first?.body.id]).toEqual([200, second?.body.id]);
  });

  it('takes each return once, also of two at once', async () => {
    const left = await api.request('GET', '/oauth/oidc/corp/outbound');
    const back = issuer.authorize(left.headers.get('location') ?? '');
    const request = () =>
      api.request('GET', `${back.pathname}${back.search}`, { cookie: cookiesOf(left) });
    const errors = (await Promise.all([request(), request()])).map(errorOf);
    expect(new Set(errors)).toEqual(new Set(['oauth_failed', null]));
    expect(errorOf(await request())).toBe('oauth_failed');
  });

  it('takes a new key of the issuer at the next sign-in', async () => {
    const own = await useOidcIssuer();
    own.user = newUser();
    const started = await useOidcApi([providerOf(own)]);
    expect(errorOf(await signInAt(started, own))).toBe(null);
    // The keys of an issuer are read at most once in ten seconds.
    await new Promise((resolve) => setTimeout(resolve, 10_100));
    await own.rotate();
    expect(errorOf(await signInAt(started, own))).toBe(null);
    await own.rotate();
    expect(errorOf(await signInAt(started, own))).toBe('oauth_failed');
    expect(own.requests.get('/jwks')).toBe(2);
  }, 30_000);

  it('redirects with provider_unavailable while the issuer is down', async () => {
    const own = await useOidcIssuer();
    const started = await useOidcApi([providerOf(own), providerOf(issuer, { id: 'up' })]);
    await own.stop();
    const left = await started.request('GET', '/oauth/oidc/corp/outbound');
    expect([left.status, errorOf(left)]).toEqual([302, 'provider_unavailable']);
    expect(left.headers.getSetCookie()).toEqual([]);
    expect(errorOf(await signInAt(started, issuer, { id: 'up' }))).toBe(null);
  });

  it('redirects with provider_unavailable when the issuer is down at the return', async () => {
    const own = await useOidcIssuer();
    const started = await useOidcApi([providerOf(own)]);
    const left = await started.request('GET', '/oauth/oidc/corp/outbound');
    const back = own.authorize(left.headers.get('location') ?? '');
    await own.stop();
    const cookie = cookiesOf(left);
    const answer = await started.request('GET', `${back.pathname}${back.search}`, { cookie });
    expect(errorOf(answer)).toBe('provider_unavailable');
  });
});

const now = () => Math.floor(Date.now() / 1000);

describe('a return that is not proved', () => {
  it.each<[string, (back: URL) => void]>([
    ['another state', ({ searchParams }) => searchParams.set('state', 'x'.repeat(43))],
    ['no state', ({ searchParams }) => searchParams.delete('state')],
    ['a guessed code', ({ searchParams }) => searchParams.set('code', 'guessed')],
    ['the issuer of another', ({ searchParams }) => searchParams.set('iss', 'https://x.example')],
    ['no issuer', ({ searchParams }) => searchParams.delete('iss')],
    ['an error', ({ searchParams }) => searchParams.set('error', 'access_denied')],
  ])('is refused with oauth_failed: %s', async (_, change) => {
    await expectRefused(await signInAt(api, issuer, { change }));
  });

  it('is refused with oauth_failed: no cookie', async () => {
    const left = await api.request('GET', '/oauth/oidc/corp/outbound');
    const back = issuer.authorize(left.headers.get('location') ?? '');
    await expectRefused(await api.request('GET', `${back.pathname}${back.search}`));
  });

  it('is refused with oauth_failed: the callback of another provider', async () => {
    const second = await useOidcIssuer();
    const both = await useOidcApi([providerOf(issuer), providerOf(second, { id: 'other' })]);
    const answer = await signInAt(both, issuer, {
      change: (back) => {
        back.pathname = '/oauth/oidc/other/callback';
      },
    });
    expect(errorOf(answer)).toBe('oauth_failed');
  });

  it.each<[string, () => Record<string, unknown>]>([
    ['nonce', () => ({ nonce: 'another' })],
    ['no nonce', () => ({ nonce: undefined })],
    ['iss', () => ({ iss: 'https://other.example' })],
    ['aud', () => ({ aud: 'another-client' })],
    ['azp', () => ({ aud: ['everpost', 'another-client'], azp: 'another-client' })],
    ['exp', () => ({ exp: now() - 120 })],
    ['iat in the past', () => ({ iat: now() - 3600 })],
    ['iat in the future', () => ({ iat: now() + 120 })],
    ['no sub', () => ({ sub: undefined })],
    ['a long sub', () => ({ sub: 'x'.repeat(256) })],
    ['no address', () => ({ email: undefined })],
  ])('is refused with oauth_failed: %s', async (_, claims) => {
    issuer.claims = claims();
    await expectRefused(await signInAt(api, issuer));
  });

  it('is refused with oauth_failed: signed by no key of the issuer', async () => {
    const other = await useOidcIssuer();
    issuer.sign = (claims) => signRightly(claims, { ...other, kid: issuer.kid });
    await expectRefused(await signInAt(api, issuer));
    issuer.sign = async (claims) => new UnsecuredJWT(claims).encode();
    await expectRefused(await signInAt(api, issuer));
    issuer.sign = async (claims, { publicJwk, kid }) => {
      const publicKey = await importJWK(publicJwk, 'RS256', { extractable: true });
      const pem = new TextEncoder().encode(await exportSPKI(publicKey as CryptoKey));
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(pem);
    };
    await expectRefused(await signInAt(api, issuer));
  });

  it('is refused with oauth_failed: an old log-in though a fresh one was asked', async () => {
    issuer.claims = { auth_time: now() - 300 };
    await expectRefused(await signInAt(api, issuer, { query: '?fresh=true' }));
    issuer.claims = { auth_time: now() };
    expect(errorOf(await signInAt(api, issuer, { query: '?fresh=true' }))).toBe(null);
  });

  async function expectRefused(answer: TestAnswer): Promise<void> {
    expect([answer.status, errorOf(answer)]).toEqual([302, 'oauth_failed']);
    expect((await me(answer)).status).toBe(401);
    const email = String(issuer.user['email']);
    const rows = await api.db
      .selectFrom('app_user')
      .select('id')
      .where('email', '=', email)
      .execute();
    expect(rows).toEqual([]);
  }
});

describe('settings of a provider', () => {
  it('lets in addresses of its domains only', async () => {
    const started = await useOidcApi([providerOf(issuer, { domains: ['Corp.example'] })]);
    expect(errorOf(await signInAt(started, issuer))).toBe(null);
    issuer.user = { ...newUser(), email: `${randomUUID()}@sub.corp.example` };
    expect(errorOf(await signInAt(started, issuer))).toBe('domain_not_allowed');
  });

  it('refuses addresses that are not verified, also with trustEmail', async () => {
    const settings = { domains: ['corp.example'], trustEmail: true };
    const started = await useOidcApi([providerOf(issuer, settings)]);
    issuer.claims = { email_verified: false };
    for (const on of [api, started]) {
      expect(errorOf(await signInAt(on, issuer))).toBe('email_not_verified');
    }
    issuer.claims = { email_verified: undefined };
    expect(errorOf(await signInAt(api, issuer))).toBe('email_not_verified');
    expect(errorOf(await signInAt(started, issuer))).toBe(null);
  });

  it('makes no account with accounts: existing, and links one by adopt', async () => {
    const settings = { accounts: 'existing', adopt: true, domains: ['corp.example'] };
    const started = await useOidcApi([providerOf(issuer, settings)]);
    expect(errorOf(await signInAt(started, issuer))).toBe('not_invited');
    const { userId, cookie } = await started.signUp(String(issuer.user['email']));
    expect((await me(await signInAt(started, issuer), started)).body.id).toBe(userId);
    expect((await started.request('GET', '/users/@me', { cookie })).body.type).toBe('PASSWORD');
  });

  it('ends the password of an unverified account that it adopts', async () => {
    const settings = { adopt: true, domains: ['corp.example'] };
    const mailing = { PLATFORM_FROM_ADDRESS: 'noreply@platform.test' };
    const started = await useOidcApi([providerOf(issuer, settings)], mailing);
    const { userId, cookie } = await started.signUp(String(issuer.user['email']));
    const user = await me(await signInAt(started, issuer), started);
    expect(user.body).toMatchObject({ id: userId, type: 'OIDC', emailVerified: true });
    expect((await started.request('GET', '/users/@me', { cookie })).status).toBe(401);
  });
});

describe('a second factor of the provider', () => {
  it('takes the place of the code, if the provider proves one', async () => {
    const started = await useOidcApi([providerOf(issuer, { acrValues: ['phr'], sessionHours: 2 })]);
    const { cookie } = await addAuthenticator(started, cookiesOf(await signInAt(started, issuer)));
    for (const claims of [{ amr: ['pwd', 'mfa'] }, { acr: 'phr' }]) {
      issuer.claims = claims;
      const answer = await signInAt(started, issuer);
      expect(answer.headers.get('location')).toBe(dashboard);
      const own = { cookie: cookiesOf(answer) };
      const { body } = await started.request('GET', '/users/@me/sessions', own);
      const session = body.find(({ current }: { current: boolean }) => current);
      expect(session).toMatchObject({ method: 'oidc', provider: 'corp', secondFactor: 'provider' });
      const hours = (Date.parse(session.expiresAt) - Date.parse(session.createdAt)) / 3_600_000;
      expect(hours).toBeCloseTo(2, 2);
    }
    issuer.claims = { amr: ['pwd'], acr: 'other' };
    const pending = await signInAt(started, issuer);
    expect(pending.headers.get('location')).toBe(`${dashboard}/auth/second-factor`);
    expect((await me(pending, started)).status).toBe(401);
    expect((await started.request('GET', '/users/@me', { cookie })).status).toBe(200);
  });
});
