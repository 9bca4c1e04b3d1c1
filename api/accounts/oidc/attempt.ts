import { createHash, createHmac, randomBytes } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { OidcAttempt } from '../../../providers/login/oidc.ts';
import type { Services } from '../../services/services.ts';
import { cookieName, setCookie } from '../../access/session.ts';
import { keyFor, LoginRefused, verifierOf } from '../oauth.ts';

/** A sign-in in progress, which is stored only in a signed cookie of the browser. */

/** Maximum duration of the sign-in at the provider, in seconds. */
export const attemptSeconds = 10 * 60;
const purpose = 'oidc state';

type Config = Services['config'];

interface Begun {
  state: string;
  provider: string;
  fresh: boolean;
  /**
   * The session whose account will be linked to the user of the provider; null: this is a sign-in.
   */
  link: { userId: string; sessionId: string } | null;
}

/** A sign-in, or a link of an account, that this browser has begun. */
export type BrowserAttempt = OidcAttempt & Pick<Begun, 'link'>;

/** Begins a sign-in or a link. Returns the cookie to set. */
export async function beginAttempt(
  config: Config,
  { provider, fresh = false, link = null }: Pick<Begun, 'provider'> & Partial<Begun>,
): Promise<{ attempt: BrowserAttempt; cookie: string }> {
  const begun = { state: randomBytes(32).toString('base64url'), provider, fresh, link };
  const token = await new SignJWT({ ...begun })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(`${attemptSeconds}s`)
    .sign(keyFor(purpose, config));
  return { attempt: attemptOf(begun, config), cookie: cookieText(token, attemptSeconds, config) };
}

/**
 * Returns the sign-in that this browser has begun at a provider.
 * @throws LoginRefused for any other state
 */
export async function readAttempt(
  config: Config,
  provider: string,
  cookie: (name: string) => string | undefined,
  state: unknown,
): Promise<BrowserAttempt> {
  const token = cookie(nameOf(config)) ?? '';
  const verified = await jwtVerify<Begun>(token, keyFor(purpose, config), {
    algorithms: ['HS256'],
    requiredClaims: ['exp'],
  }).catch(() => null);
  const begun = verified?.payload;
  if (!begun || begun.state !== state || begun.provider !== provider) {
    throw new LoginRefused('oauth_failed');
  }
  return attemptOf(begun, config);
}

/** Returns the `Set-Cookie` value that deletes the cookie of a sign-in. */
export function forgetAttempt(config: Config): string {
  return cookieText('', 0, config);
}

export function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}

function attemptOf({ state, provider, fresh, link }: Begun, config: Config): BrowserAttempt {
  return {
    state,
    fresh,
    link,
    // The browser can read the cookie. So nonce and verifier are not in the cookie, but derived
    // with keys of the server.
    nonce: createHmac('sha256', keyFor('oidc nonce', config)).update(state).digest('base64url'),
    codeVerifier: verifierOf(state, config),
    redirectUri: `${config.apiUrl}/oauth/oidc/${provider}/callback`,
  };
}

function nameOf({ apiUrl }: Config): string {
  return cookieName('everpost_oidc', apiUrl);
}

function cookieText(value: string, maxAge: number, config: Config): string {
  return setCookie(nameOf(config), value, maxAge, config.apiUrl);
}
