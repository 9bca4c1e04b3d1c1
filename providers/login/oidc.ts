import {
  createRemoteJWKSet,
  customFetch as keyFetch,
  decodeJwt,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import * as client from 'openid-client';
import { z } from 'zod';
import type { OidcProvider } from './oidc-file.ts';

/** Sign-in by OpenID Connect: makes the URL for the browser, and verifies the response. */

/** Maximum number of milliseconds for each request to a provider. */
const answerMs = 5_000;
const answerBytesMax = 1024 * 1024;
/** Milliseconds for which a provider's published endpoints are cached. */
const discoveryMs = 10 * 60_000;
/**
 * Minimum number of milliseconds between two reads of an issuer's keys. A token with an unknown key
 * causes a read.
 */
const keysMs = 10_000;
/** Maximum difference between the clocks of a provider and this server, in seconds. */
const skewSeconds = 60;
/** Maximum age of a logout token, in seconds. */
export const logoutTokenSeconds = 5 * 60;
/** Only public-key algorithms, because a token must never be signed with a client's secret. */
const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** Thrown when the OpenID provider does not answer. */
export class ProviderUnavailable extends Error {}

/** One sign-in, from the redirect to the provider until the browser returns. */
export interface OidcAttempt {
  redirectUri: string;
  state: string;
  nonce: string;
  codeVerifier: string;
  /** True: the provider must ask the user to sign in again, even if they are signed in there. */
  fresh: boolean;
}

/** The claims in a verified ID token. */
export interface OidcClaims {
  sub: string;
  /** The id of the user's session at the provider. */
  sid: string | null;
  [claim: string]: unknown;
}

export interface Oidc {
  /** Returns the URL to which the browser is sent. @throws ProviderUnavailable */
  authorizeUrl(attempt: OidcAttempt): Promise<string>;
  /**
   * Verifies the URL to which the browser came back, and returns the claims.
   * @throws ProviderUnavailable, and other errors if the verification fails
   */
  readReturn(returned: URL, attempt: OidcAttempt): Promise<OidcClaims>;
  /**
   * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6).
   * @throws ProviderUnavailable, and other errors if the verification fails
   */
  readLogout(token: string): Promise<OidcLogout>;
}

/** A verified logout: of the session `sid`, or of all sessions of the user `sub`. */
export interface OidcLogout {
  sub: string | null;
  sid: string | null;
  /** The id of the token. Each id must be used only once. */
  jti: string;
}

interface Discovered {
  config: client.Configuration;
  keys: JWTVerifyGetKey;
}

/** Creates the client for a provider. The provider is contacted only when a user signs in. */
export function createOidc(provider: OidcProvider): Oidc {
  let known: { at: number; found: Promise<Discovered> } | null = null;
  const discovered = () => {
    if (known && Date.now() - known.at < discoveryMs) return known.found;
    const begun = { at: Date.now(), found: discover(provider) };
    known = begun;
    // A failed attempt is not cached.
    begun.found.catch(() => {
      if (known === begun) known = null;
    });
    return begun.found;
  };
  return {
    async authorizeUrl({ redirectUri, state, nonce, codeVerifier, fresh }) {
      const { config } = await discovered();
      return client.buildAuthorizationUrl(config, {
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: provider.scopes.join(' '),
        state,
        nonce,
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        ...(fresh && { prompt: 'login', max_age: '0' }),
      }).href;
    },
    async readReturn(returned, attempt) {
      const found = await discovered();
      return rethrown(() => readReturn(found, provider, returned, attempt));
    },
    async readLogout(token) {
      // A token of another issuer is refused without a request to this provider.
      if (decodeJwt(token).iss !== provider.issuer)
        throw new Error('The issuer of the token is not that of this provider.');
      const { keys } = await discovered();
      return rethrown(() => readLogout(keys, provider, token));
    },
  };
}

const LogoutClaims = z.object({
  sub: z.string().min(1).nullable().default(null),
  sid: z.string().min(1).nullable().default(null),
  jti: z.string().min(1),
  events: z.object({ 'http://schemas.openid.net/event/backchannel-logout': z.looseObject({}) }),
  // Only ID tokens have a nonce, and an ID token must not end sessions.
  nonce: z.never().optional(),
});

async function readLogout(
  keys: JWTVerifyGetKey,
  { issuer, clientId }: OidcProvider,
  token: string,
): Promise<OidcLogout> {
  const { payload } = await jwtVerify(token, keys, {
    algorithms,
    issuer,
    audience: clientId,
    requiredClaims: ['iat'],
    clockTolerance: skewSeconds,
    // The library adds the clock tolerance to this age.
    maxTokenAge: logoutTokenSeconds - skewSeconds,
  });
  const { sub, sid, jti } = LogoutClaims.parse(payload);
  if (sub === null && sid === null)
    throw new Error('The token has neither a user (sub) nor a session (sid).');
  return { sub, sid, jti };
}

async function readReturn(
  { config, keys }: Discovered,
  { issuer, clientId, projects }: OidcProvider,
  returned: URL,
  { state, nonce, codeVerifier, fresh }: OidcAttempt,
): Promise<OidcClaims> {
  const tokens = await client.authorizationCodeGrant(config, returned, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: codeVerifier,
    idTokenExpected: true,
    ...(fresh && { maxAge: 0 }),
  });
  const { payload } = await jwtVerify(tokens.id_token ?? '', keys, {
    algorithms,
    issuer,
    audience: clientId,
    requiredClaims: ['sub', 'exp', 'iat', 'nonce'],
    clockTolerance: skewSeconds,
    maxTokenAge: 1,
  });
  const { sub = '' } = payload;
  // Rules of projects may name any claim, and some providers return groups only from the UserInfo
  // endpoint.
  const needsMore =
    projects.length > 0 ||
    payload['email'] === undefined ||
    payload['email_verified'] === undefined;
  const more =
    needsMore && config.serverMetadata().userinfo_endpoint
      ? await client.fetchUserInfo(config, tokens.access_token, sub)
      : {};
  const { sid } = payload;
  return { ...more, ...payload, sub, sid: typeof sid === 'string' ? sid : null };
}

async function discover(provider: OidcProvider): Promise<Discovered> {
  const { issuer, clientId, clientSecret } = provider;
  // Plain HTTP is only possible for an issuer on loopback (see the rules of the file).
  // oxlint-disable-next-line typescript/no-deprecated
  const execute = issuer.startsWith('http:') ? [client.allowInsecureRequests] : [];
  try {
    const first = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      execute,
      [client.customFetch]: fetchBounded,
    });
    const server = first.serverMetadata();
    if (server.issuer !== issuer)
      throw new Error(`The discovery document has the issuer ${server.issuer}, not ${issuer}.`);
    if (server.jwks_uri === undefined)
      throw new Error('The discovery document has no jwks_uri, so there are no keys.');
    const metadata = { [client.clockTolerance]: skewSeconds };
    const auth = clientAuth(clientSecret, server.token_endpoint_auth_methods_supported);
    const config = new client.Configuration(server, clientId, metadata, auth);
    config[client.customFetch] = fetchBounded;
    for (const allow of execute) {
      // oxlint-disable-next-line typescript/no-deprecated
      allow(config);
    }
    const keys = createRemoteJWKSet(new URL(server.jwks_uri), {
      cooldownDuration: keysMs,
      timeoutDuration: answerMs,
      [keyFetch]: fetchKeys,
    });
    return { config, keys };
  } catch (error) {
    throw new ProviderUnavailable(`The provider ${provider.id} cannot be used.`, { cause: error });
  }
}

function clientAuth(secret: string | undefined, methods = ['client_secret_basic']) {
  if (secret === undefined) return client.None();
  const isPostOnly =
    methods.includes('client_secret_post') && !methods.includes('client_secret_basic');
  return isPostOnly ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
}

/** The fetch options that both OIDC libraries pass. */
interface FetchOptions {
  method: string;
  headers: NonNullable<RequestInit['headers']>;
  body?: RequestInit['body'] | undefined;
}

/** Makes a request with a limit on time and size. Redirects are not followed. */
async function fetchBounded(url: string, options: FetchOptions): Promise<Response> {
  let answered: Response;
  let bytes: Buffer | null;
  try {
    const signal = AbortSignal.timeout(answerMs);
    answered = await fetch(url, {
      ...options,
      body: options.body ?? null,
      redirect: 'manual',
      signal,
    });
    bytes = await readBounded(answered);
  } catch (error) {
    throw new ProviderUnavailable(`${new URL(url).host} does not answer.`, { cause: error });
  }
  const { status, headers } = answered;
  if (status >= 500) throw new ProviderUnavailable(`${new URL(url).host} answered ${status}.`);
  if (bytes === null)
    throw new Error(`${new URL(url).host} answered more than ${answerBytesMax} bytes.`);
  return new Response(bytes.length === 0 ? null : new Uint8Array(bytes), { status, headers });
}

/** Reads a body; null: the body is too long. */
async function readBounded({ body }: Response): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > answerBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function fetchKeys(url: string, options: FetchOptions): Promise<Response> {
  const answered = await fetchBounded(url, options);
  if (answered.status !== 200) {
    const { host } = new URL(url);
    throw new ProviderUnavailable(
      `The signing keys of the login provider cannot be read: ${host} answered ${answered.status}.`,
    );
  }
  return answered;
}

/** Unwraps errors of `fetch`, because the libraries wrap them in their own. */
async function rethrown<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof ProviderUnavailable) throw cause;
    }
    throw error;
  }
}
