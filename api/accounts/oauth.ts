import { createHash, createHmac, randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import {
  findUserByEmail,
  findUserByProvider,
  insertUser,
  replacePassword,
  type UserRow,
  type UserType,
} from '../../db/accounts/users.ts';
import { bug } from '../../domain/errors.ts';
import { normaliseEmail } from '../../domain/email-address.ts';
import type { OAuthProvider } from '../../providers/login/oauth.ts';
import { type Answer, answer, type AnyEndpoint, endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import type { SecurityLog } from '../access/security-log.ts';
import { cookieName, setCookie } from '../access/session.ts';
import { finishSignIn } from './sign-in.ts';
import { providerKeeping } from '../access/sign-in-ways.ts';

/**
 * Sign-in through GitHub or Google. `outbound` redirects to the site, which redirects to
 * `callback`.
 */

const ways: {
  provider: OAuthProvider;
  name: string;
  type: Exclude<UserType, 'PASSWORD' | 'OIDC'>;
}[] = [
  { provider: 'github', name: 'GitHub', type: 'GITHUB_OAUTH' },
  { provider: 'google', name: 'Google', type: 'GOOGLE_OAUTH' },
];

/** Maximum duration of the login at the other site, in seconds. */
const stateSeconds = 10 * 60;

export type LoginRefusal =
  | 'oauth_failed'
  | 'email_not_verified'
  | 'domain_not_allowed'
  | 'wrong_method'
  | 'not_invited'
  | 'signups_disabled'
  | 'identity_taken'
  | 'provider_unavailable';

/** A login that failed, with the reason. The dashboard shows the reason. */
export class LoginRefused extends Error {
  readonly code: LoginRefusal;

  constructor(code: LoginRefusal) {
    super(code);
    this.code = code;
  }
}

const getOAuthConfig = endpoint({
  id: 'getOAuthConfig',
  method: 'GET',
  path: '/auth/oauth-config',
  summary: 'List the other ways to log in',
  description: 'true for GitHub and Google if the server has settings for it.',
  access: 'open',
  wrapped: true,
  response: z.object({ github: z.boolean(), google: z.boolean() }),
  example: { response: { github: true, google: false } },
  async handle({ config }) {
    return { github: config.oauth.github !== null, google: config.oauth.google !== null };
  },
});

function outbound({ provider, name }: (typeof ways)[number]): AnyEndpoint {
  return endpoint({
    id: `start${name}Login`,
    method: 'GET',
    path: `/oauth/${provider}/outbound`,
    summary: `Go to ${name} to log in`,
    description: 'For browsers. Sets a cookie for 10 minutes and redirects to the other site.',
    access: 'open',
    status: 302,
    unavailable: (config) => (config.oauth[provider] ? null : 'OAUTH_NOT_CONFIGURED'),
    response: z.unknown(),
    problems: ['OAUTH_NOT_CONFIGURED'],
    async handle({ config, oauth }) {
      const state = randomBytes(32).toString('base64url');
      const cookie = await new SignJWT({ state, provider })
        .setProtectedHeader({ alg: 'HS256' })
        .setExpirationTime(`${stateSeconds}s`)
        .sign(keyFor('oauth state', config));
      const login = oauth[provider];
      if (!login)
        throw bug(`The login provider ${name} has settings, but this version cannot use it.`);
      const url = login.authorizeUrl({
        redirectUri: redirectUri(provider, config),
        state,
        codeChallenge: createHash('sha256').update(verifierOf(state, config)).digest('base64url'),
      });
      return goTo(url, cookieText(cookie, stateSeconds, config));
    },
  });
}

function callback(way: (typeof ways)[number]): AnyEndpoint {
  const { provider, name } = way;
  return endpoint({
    id: `finish${name}Login`,
    method: 'GET',
    path: `/oauth/${provider}/callback`,
    summary: `Callback of ${name} after the log-in`,
    description:
      'For browsers. Redirects to the dashboard, with the session cookie set; to its page ' +
      '/auth/second-factor if the account has a second factor; or to its ' +
      'login page with `error`: oauth_failed, wrong_method (the account of the address logs ' +
      'in in another way) or signups_disabled.',
    access: 'open',
    status: 302,
    unavailable: (config) => (config.oauth[provider] ? null : 'OAUTH_NOT_CONFIGURED'),
    query: z.object({ code: z.unknown().optional(), state: z.unknown().optional() }),
    response: z.unknown(),
    problems: ['OAUTH_NOT_CONFIGURED'],
    async handle(call) {
      const { config, log, query, request } = call;
      const forgotten = cookieText('', 0, config);
      try {
        const state = await checkState(
          request.cookie(stateCookie(config)),
          provider,
          query.state,
          config,
        );
        const user = await identify(call, way, state, query.code);
        const { kind, cookies } = await finishSignIn(call, user, { method: provider });
        const page = kind === 'pending' ? '/auth/second-factor' : '';
        return goTo(`${config.dashboardUrl}${page}`, ...cookies, forgotten);
      } catch (error) {
        const refused = error instanceof LoginRefused;
        if (!refused) log.warn({ error, provider }, 'login through a provider failed');
        const code = refused ? error.code : 'oauth_failed';
        call.noteRefusal({ event: 'login.refused', details: { by: way.type, reason: code } });
        return goTo(`${config.dashboardUrl}/auth/login?error=${code}`, forgotten);
      }
    },
  });
}

export const oauthEndpoints = [getOAuthConfig, ...ways.map(outbound), ...ways.map(callback)];

/**
 * Finds or creates the account of a user who returns from GitHub or Google. An account has one
 * sign-in method.
 */
async function identify(
  {
    db,
    config,
    oauth,
    note,
  }: Pick<Services, 'db' | 'config' | 'oauth'> & Pick<SecurityLog, 'note'>,
  { provider, type }: (typeof ways)[number],
  state: string,
  code: unknown,
): Promise<UserRow> {
  if (typeof code !== 'string' || code === '') throw new LoginRefused('oauth_failed');
  const identity = await oauth[provider]?.identify({
    code,
    redirectUri: redirectUri(provider, config),
    codeVerifier: verifierOf(state, config),
  });
  if (!identity) throw new LoginRefused('oauth_failed');
  const known = await findUserByProvider(db, type, identity.providerId);
  if (known) return refuseKept(config, known);
  const email = identity.email === null ? null : normaliseEmail(identity.email);
  if (email === null) throw new LoginRefused('oauth_failed');
  refuseKept(config, { email });
  const holder = await findUserByEmail(db, email);
  // The user of this account has never proved the address. The login through the provider proves
  // the address, so the login takes over the account.
  const isUnproven = holder?.type === 'PASSWORD' && !holder.email_verified;
  // An account that was created through the same provider is refused, too, because the address may
  // belong to another user of the provider now.
  if (holder && !isUnproven) throw new LoginRefused('wrong_method');
  if (!config.signupsEnabled) throw new LoginRefused('signups_disabled');
  const { providerId } = identity;
  const made = holder
    ? await replacePassword(db, holder.id, { type, providerId })
    : await insertUser(db, { email, emailVerified: true, type, providerId });
  if (made) {
    const event = holder ? 'account.claimed' : 'account.created';
    await note({ event, userId: made.id, details: { by: type } });
  }
  // If no account was created, a concurrent callback has created it.
  const user = made ?? (await findUserByProvider(db, type, providerId));
  if (!user) throw new LoginRefused('wrong_method');
  return user;
}

/**
 * Refuses users who must sign in through an OpenID provider.
 * @throws LoginRefused
 */
function refuseKept<User extends { email: string }>(config: Services['config'], user: User): User {
  if (providerKeeping(config, user.email)) throw new LoginRefused('wrong_method');
  return user;
}

/** Checks that this browser has begun the login. @throws LoginRefused for an unknown state. */
async function checkState(
  cookie: string | undefined,
  provider: OAuthProvider,
  given: unknown,
  config: Services['config'],
): Promise<string> {
  const verified = await jwtVerify(cookie ?? '', keyFor('oauth state', config), {
    algorithms: ['HS256'],
    requiredClaims: ['exp'],
  }).catch(() => null);
  const { state, provider: begun } = verified?.payload ?? {};
  if (typeof state !== 'string' || state !== given || begun !== provider) {
    throw new LoginRefused('oauth_failed');
  }
  return state;
}

/**
 * Returns the PKCE verifier, which only this server knows. The verifier is derived from the state
 * and a key of the server, so no row stores it.
 */
export function verifierOf(state: string, config: Services['config']): string {
  return createHmac('sha256', keyFor('oauth verifier', config)).update(state).digest('base64url');
}

export function keyFor(purpose: string, { jwtSecret }: Services['config']): Uint8Array {
  return createHmac('sha256', jwtSecret).update(purpose).digest();
}

function redirectUri(provider: OAuthProvider, { apiUrl }: Services['config']): string {
  return `${apiUrl}/oauth/${provider}/callback`;
}

function stateCookie({ apiUrl }: Services['config']): string {
  return cookieName('everpost_oauth', apiUrl);
}

function cookieText(value: string, maxAge: number, config: Services['config']): string {
  return setCookie(stateCookie(config), value, maxAge, config.apiUrl);
}

export function goTo(url: string, ...cookies: string[]): Answer<unknown> {
  return answer(null, { status: 302, headers: { Location: url, 'Set-Cookie': cookies } });
}
