import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf } from '../../../support/api.ts';
import { useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import {
  beginLink,
  dashboard,
  errorOf,
  linkAt,
  providerOf,
  signInAt,
  useOidcApi,
} from '../../../support/fakes/oidc.ts';
import { cookiesOf } from '../../../support/second-factor.ts';
import { sessionSince } from '../../../support/sessions.ts';

const issuer = await useOidcIssuer();
const other = await useOidcIssuer();
const api = await useOidcApi([
  providerOf(issuer),
  providerOf(other, { id: 'partner', name: 'Partner' }),
]);
beforeEach(() => {
  for (const one of [issuer, other]) {
    const email = `${randomUUID()}@corp.example`;
    one.user = { sub: randomUUID(), email, email_verified: true };
  }
});

const linksOf = async (cookie: string) =>
  (await api.request('GET', '/users/@me/identities', { cookie })).body;
const unlink = (cookie: string, id: string) =>
  api.request('DELETE', `/users/@me/identities/${id}`, { cookie });
const userOf = async (cookie: string) =>
  (await api.request('GET', '/users/@me', { cookie })).body.id;

describe('POST /users/@me/identities', () => {
  it('links an account to the user who signs in, so that both ways sign in', async () => {
    const { userId, cookie, email } = await api.signUp(String(issuer.user['email']));
    expect(errorOf(await signInAt(api, issuer))).toBe('wrong_method');
    const linked = await linkAt(api, issuer, cookie);
    expect(linked.headers.get('location')).toBe(`${dashboard}/auth/linked?provider=corp`);
    expect(linked.headers.getSetCookie()).toEqual([expect.stringMatching(/^everpost_oidc=;/)]);
    expect(await userOf(cookiesOf(await signInAt(api, issuer)))).toBe(userId);
    const login = await api.request('POST', '/auth/login', {
      body: { email, password: 'a password' },
    });
    expect(login.status).toBe(200);
    const time = expect.stringMatching(/Z$/);
    expect(await linksOf(cookie)).toEqual([
      {
        id: expect.any(String),
        provider: 'corp',
        name: 'Corp',
        createdAt: time,
        lastUsedAt: time,
      },
    ]);
    const { body } = await api.request('GET', '/users/@me/security-events', { cookie });
    expect(body.data).toContainEqual(
      expect.objectContaining({ event: 'identity.linked', details: { provider: 'corp' } }),
    );
  });

  it('links a second provider with another address, also twice', async () => {
    const cookie = cookiesOf(await signInAt(api, issuer));
    for (const _ of [1, 2]) {
      expect(errorOf(await linkAt(api, other, cookie, 'partner'))).toBe(null);
    }
    expect((await linksOf(cookie)).map(({ provider }: { provider: string }) => provider)).toEqual([
      'corp',
      'partner',
    ]);
    expect(await userOf(cookiesOf(await signInAt(api, other, { id: 'partner' })))).toBe(
      await userOf(cookie),
    );
  });

  it('refuses a user of the provider who has another account', async () => {
    await signInAt(api, issuer);
    const { cookie } = await api.signUp();
    const answer = await linkAt(api, issuer, cookie);
    expect(answer.headers.get('location')).toBe(`${dashboard}/auth/linked?error=identity_taken`);
    expect(await linksOf(cookie)).toEqual([]);
  });

  it('links nothing once the session that began it has ended', async () => {
    const { cookie } = await api.signUp();
    const begun = await beginLink(api, cookie);
    await api.request('GET', '/auth/logout', { cookie });
    const back = issuer.authorize(begun.body.url);
    const answer = await api.request('GET', `${back.pathname}${back.search}`, {
      cookie: cookiesOf(begun),
    });
    expect(errorOf(answer)).toBe('oauth_failed');
    expect(
      await api.db
        .selectFrom('identity')
        .select('id')
        .where('subject', '=', issuer.user.sub)
        .execute(),
    ).toEqual([]);
  });

  it('returns where to go, as a sign-in does, and links nothing by itself', async () => {
    const { cookie } = await api.signUp();
    const { status, body } = await beginLink(api, cookie);
    expect([status, Object.keys(body)]).toEqual([200, ['url']]);
    expect(body.url).toContain(`${issuer.url}/authorize?`);
    expect(new URL(body.url).searchParams.get('code_challenge_method')).toBe('S256');
    expect(await linksOf(cookie)).toEqual([]);
  });

  it('refuses an old session, an unknown provider and one that does not answer', async () => {
    const { userId, cookie } = await api.signUp();
    expect(codeOf(await beginLink(api, cookie, 'nobody'))).toEqual([404, 'OAUTH_NOT_CONFIGURED']);
    const own = await useOidcIssuer();
    const started = await useOidcApi([providerOf(own)]);
    await own.stop();
    const { cookie: there } = await started.signUp();
    expect(codeOf(await beginLink(started, there))).toEqual([503, 'SERVICE_UNAVAILABLE']);
    const old = await sessionSince(api, userId, 121);
    const refused = await beginLink(api, old);
    expect(codeOf(refused)).toEqual([403, 'REAUTHENTICATION_REQUIRED']);
    expect(refused.body.error.details).toEqual({ methods: ['password'] });
  });
});

describe('DELETE /users/@me/identities/{id}', () => {
  it('removes a link, but not the last way to sign in', async () => {
    const cookie = cookiesOf(await signInAt(api, issuer));
    await linkAt(api, other, cookie, 'partner');
    const [first, second] = await linksOf(cookie);
    expect((await unlink(cookie, second.id)).status).toBe(204);
    expect(codeOf(await unlink(cookie, first.id))).toEqual([409, 'LAST_SIGN_IN_METHOD']);
    expect(await linksOf(cookie)).toEqual([first]);
    const next = await signInAt(api, other, { id: 'partner' });
    expect(await userOf(cookiesOf(next))).not.toBe(await userOf(cookie));
    const { body } = await api.request('GET', '/users/@me/security-events', { cookie });
    expect(body.data[0]).toMatchObject({
      event: 'identity.unlinked',
      details: { provider: 'partner' },
    });
  });

  it('leaves one of two links that are removed at once', async () => {
    const cookie = cookiesOf(await signInAt(api, issuer));
    await linkAt(api, other, cookie, 'partner');
    const links: { id: string }[] = await linksOf(cookie);
    const answers = await Promise.all(links.map(({ id }) => unlink(cookie, id)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409]);
  });

  it('counts only ways that the server has', async () => {
    const { cookie } = await api.signUp();
    await linkAt(api, issuer, cookie);
    const [{ id }] = await linksOf(cookie);
    api.services.config.passwordSignIn = false;
    try {
      expect(codeOf(await unlink(cookie, id))).toEqual([409, 'LAST_SIGN_IN_METHOD']);
    } finally {
      api.services.config.passwordSignIn = true;
    }
    expect((await unlink(cookie, id)).status).toBe(204);
  });

  it('shows and removes only links of the user', async () => {
    const owner = cookiesOf(await signInAt(api, issuer));
    const [{ id }] = await linksOf(owner);
    const { userId, cookie } = await api.signUp();
    expect(codeOf(await unlink(cookie, id))).toEqual([404, 'IDENTITY_NOT_FOUND']);
    expect(codeOf(await unlink(await sessionSince(api, userId, 121), id))).toEqual([
      403,
      'REAUTHENTICATION_REQUIRED',
    ]);
    expect(await linksOf(owner)).toHaveLength(1);
  });
});

it('names a provider among the ways to prove who one is', async () => {
  const cookie = cookiesOf(await signInAt(api, issuer));
  const old = await sessionSince(api, await userOf(cookie), 121);
  const refused = await beginLink(api, old);
  expect(refused.body.error.details).toEqual({ methods: ['oidc:corp'] });
});
