import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { exportSPKI, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { type CryptoKey } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { codeOf, type TestApi, useApi } from '../../../support/api.ts';
import { type OidcIssuer, signRightly, useOidcIssuer } from '../../../support/fakes/oidc-issuer.ts';
import { providerOf, signInAt, useOidcApi, useOidcFile } from '../../../support/fakes/oidc.ts';
import { addAuthenticator, cookiesOf } from '../../../support/second-factor.ts';

const issuer = await useOidcIssuer();
const api = await useOidcApi([providerOf(issuer)]);
beforeEach(() => {
  const email = `${randomUUID()}@corp.example`;
  issuer.user = { sub: randomUUID(), email, email_verified: true };
  issuer.claims = {};
});

/** Signs in with a session of the provider, by default a new one. */
async function signedIn(sid: string = randomUUID()) {
  issuer.claims = { sid };
  return { sid, cookie: cookiesOf(await signInAt(api, issuer)) };
}

const isLive = async (cookie: string, on: TestApi = api) =>
  (await on.request('GET', '/users/@me', { cookie })).status === 200;

const seconds = () => Math.floor(Date.now() / 1000);
const event = { 'http://schemas.openid.net/event/backchannel-logout': {} };
const claimsOf = (claims: JWTPayload): JWTPayload => ({
  iss: issuer.url,
  aud: 'everpost',
  iat: seconds(),
  jti: randomUUID(),
  events: event,
  ...claims,
});
const tokenOf = (claims: JWTPayload) => signRightly(claimsOf(claims), issuer);

const send = (token: string, { on = api, provider = 'corp' } = {}) =>
  on.request('POST', `/oauth/oidc/${provider}/backchannel-logout`, {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ logout_token: token }).toString(),
  });

describe('a logout at the provider', () => {
  it('ends the session of its sid, on every API process, and no other', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const config = { DATABASE_URL: api.services.config.databaseUrl };
    const file = await useOidcFile({ providers: [providerOf(issuer)] });
    const second = await useApi({ OIDC_PROVIDERS_FILE: file, ...config });
    expect(await isLive(one.cookie, second)).toBe(true);
    const answer = await send(await tokenOf({ sid: one.sid, sub: issuer.user.sub }));
    expect([answer.status, answer.body, answer.headers.get('cache-control')]).toEqual([
      200,
      '',
      'no-store',
    ]);
    for (const on of [api, second]) {
      expect([await isLive(one.cookie, on), await isLive(other.cookie, on)]).toEqual([false, true]);
    }
    const { body } = await api.request('GET', '/users/@me/security-events', {
      cookie: other.cookie,
    });
    expect(body.data[0]).toMatchObject({
      event: 'logout.backchannel',
      details: { provider: 'corp', ended: '1' },
    });
  });

  it('ends with sub alone all sessions of the user by this provider', async () => {
    const { userId, cookie, email } = await api.signUp(String(issuer.user['email']));

    await api.db
      .insertInto('identity')
      .values({ user_id: userId, provider: 'corp', issuer: issuer.url, subject: issuer.user.sub })
      .execute();
    const own = [await signedIn(), await signedIn()];
    const { sub } = issuer.user;
    issuer.user = { ...issuer.user, sub: randomUUID(), email: `other-${email}` };
    const stranger = await signedIn();
    expect((await send(await tokenOf({ sub }))).status).toBe(200);
    expect(await Promise.all(own.map((one) => isLive(one.cookie)))).toEqual([false, false]);
    expect([await isLive(cookie), await isLive(stranger.cookie)]).toEqual([true, true]);
  });

  it('ends a sign-in that still waits for a second factor', async () => {
    const first = await signedIn();
    const app = await addAuthenticator(api, first.cookie);
    const pending = await signedIn();
    expect((await send(await tokenOf({ sid: pending.sid }))).status).toBe(200);
    const proof = { cookie: pending.cookie, body: { code: app.code() } };
    expect(codeOf(await api.request('POST', '/auth/second-factor', proof))).toEqual([
      401,
      'UNAUTHORIZED',
    ]);
  });

  it('ends a session that has got a second factor later', async () => {
    const { sid, cookie } = await signedIn();
    const app = await addAuthenticator(api, cookie);
    expect(await isLive(app.cookie)).toBe(true);
    expect((await send(await tokenOf({ sid }))).status).toBe(200);
    expect(await isLive(app.cookie)).toBe(false);
    const again = await signedIn();
    const proof = { cookie: again.cookie, body: { code: app.code(1) } };
    const proven = cookiesOf(await api.request('POST', '/auth/second-factor', proof));
    expect(await isLive(proven)).toBe(true);
    await send(await tokenOf({ sid: again.sid }));
    expect(await isLive(proven)).toBe(false);
  });

  it('is answered with 200 when there is nothing to end', async () => {
    expect((await send(await tokenOf({ sub: 'unknown' }))).status).toBe(200);
  });

  it('counts once, also of two at a time', async () => {
    const token = await tokenOf({ sub: issuer.user.sub });
    const both = await Promise.all([send(token), send(token)]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    const { cookie } = await signedIn();
    expect(codeOf(await send(token))).toEqual([400, 'INVALID_LOGOUT_TOKEN']);
    expect(await isLive(cookie)).toBe(true);
  });

  it('counts again when its transaction has failed', async () => {
    const { sid, cookie } = await signedIn();
    const token = await tokenOf({ sid });
    await sql`create function fail() returns trigger language plpgsql as
      $$ begin raise exception 'The database fails.'; end $$`.execute(api.db);
    await sql`create trigger failing before delete on session
      for each row execute function fail()`.execute(api.db);
    expect((await send(token)).status).toBe(500);
    await sql`drop trigger failing on session`.execute(api.db);
    expect(await isLive(cookie)).toBe(true);
    expect((await send(token)).status).toBe(200);
    expect(await isLive(cookie)).toBe(false);
  });
});

const badClaims: [fault: string, claims: Record<string, unknown>][] = [
  ['another audience', { aud: 'other' }],
  ['another issuer', { iss: 'https://other.example' }],
  ['older than five minutes', { iat: seconds() - 310 }],
  ['expired', { exp: seconds() - 90 }],
  ['a nonce', { nonce: 'n' }],
  ['no event of a logout', { events: {} }],
  ['no jti', { jti: undefined }],
  ['neither sub nor sid', { sub: undefined, sid: undefined }],
];

describe('a wrong logout token', () => {
  it.each(badClaims)('is refused and ends nothing: %s', async (_, claims) => {
    const { sid, cookie } = await signedIn();
    const token = await tokenOf({ sid, sub: issuer.user.sub, ...claims });
    expect(codeOf(await send(token))).toEqual([400, 'INVALID_LOGOUT_TOKEN']);
    expect(await isLive(cookie)).toBe(true);
  });

  const signers: [fault: string, sign: (claims: JWTPayload, of: OidcIssuer) => Promise<string>][] =
    [
      ['not signed', async (claims) => new UnsecuredJWT(claims).encode()],
      [
        'signed with the public key as a secret',
        async (claims, { publicJwk, kid }) => {
          const pem = await exportSPKI((await importJWK(publicJwk, 'RS256')) as CryptoKey);
          const secret = new TextEncoder().encode(pem);
          return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(secret);
        },
      ],
      ['no token', async () => 'abc'],
    ];
  it.each(signers)('is refused and ends nothing: %s', async (_, sign) => {
    const { sid, cookie } = await signedIn();
    expect(codeOf(await send(await sign(claimsOf({ sid }), issuer)))).toEqual([
      400,
      'INVALID_LOGOUT_TOKEN',
    ]);
    expect(await isLive(cookie)).toBe(true);
  });

  it('is an ID token', async () => {
    const { cookie } = await signedIn();
    const idToken = await signRightly(
      { iss: issuer.url, aud: 'everpost', iat: seconds(), nonce: 'n', sub: issuer.user.sub },
      issuer,
    );
    expect(codeOf(await send(idToken))).toEqual([400, 'INVALID_LOGOUT_TOKEN']);
    expect(await isLive(cookie)).toBe(true);
  });
});

it('takes only forms of at most 16 KB, for providers that it knows', async () => {
  const path = '/oauth/oidc/corp/backchannel-logout';
  const json = await api.request('POST', path, { body: { logout_token: 'x' } });
  expect(codeOf(json)).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  expect(codeOf(await send('x'.repeat(17_000)))).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  expect(codeOf(await send('x', { provider: 'other' }))).toEqual([404, 'OAUTH_NOT_CONFIGURED']);
});

it('returns 503 when the keys of the provider cannot be read', async () => {
  const own = await useOidcIssuer();
  const started = await useOidcApi([providerOf(own)]);
  const claims = { ...claimsOf({ sub: 'ada' }), iss: own.url };
  const token = await signRightly(claims, own);
  own.metadata = { jwks_uri: 'http://127.0.0.1:9/jwks' };
  expect(codeOf(await send(token, { on: started }))).toEqual([503, 'SERVICE_UNAVAILABLE']);
});
