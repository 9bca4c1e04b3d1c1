import { exchange, readSuccess } from '../web/exchange.ts';

/** Login through GitHub and Google: OAuth 2.0 with an authorization code and PKCE (RFC 7636). */

export type OAuthProvider = 'github' | 'google';

export interface OAuthClient {
  id: string;
  secret: string;
}

/** The user who signed in, as the provider describes them. */
export interface OAuthIdentity {
  /** The provider's own id of the user, which does not change when the user's address changes. */
  providerId: string;
  /** An address that the provider has verified; null: the user has no verified address. */
  email: string | null;
}

export interface OAuthExchange {
  /** The code from the provider's redirect. */
  code: string;
  redirectUri: string;
  /** The secret whose hash was sent as `codeChallenge` at the start. */
  codeVerifier: string;
}

export interface OAuthStart {
  redirectUri: string;
  state: string;
  /** SHA-256 of the code verifier, in base64url. */
  codeChallenge: string;
}

interface OAuthLogin {
  /** Returns the URL to which the browser is sent. */
  authorizeUrl(start: OAuthStart): string;
  /**
   * Exchanges the code for the identity of the user. @throws Error when the provider refuses or is
   * unavailable
   */
  identify(exchange: OAuthExchange): Promise<OAuthIdentity>;
}

/** The login providers; null: the provider is not configured. */
export type OAuth = Record<OAuthProvider, OAuthLogin | null>;

export interface OAuthEndpoints {
  authorize: string;
  token: string;
  user: string;
  /** URL of the user's email addresses, for a provider whose `user` does not include them. */
  emails?: string;
}

export const oauthEndpoints: Record<OAuthProvider, OAuthEndpoints> = {
  // https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
  github: {
    authorize: 'https://github.com/login/oauth/authorize',
    token: 'https://github.com/login/oauth/access_token',
    user: 'https://api.github.com/user',
    emails: 'https://api.github.com/user/emails',
  },
  // https://accounts.google.com/.well-known/openid-configuration
  google: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    user: 'https://openidconnect.googleapis.com/v1/userinfo',
  },
};

/** Maximum wait for the provider in milliseconds; short, because a user waits for the page. */
const timeoutMs = 10_000;
/** Maximum number of bytes of a response. */
const answerBytesMax = 256 * 1024;

export function createOAuth(
  clients: Record<OAuthProvider, OAuthClient | null>,
  endpoints: Record<OAuthProvider, OAuthEndpoints> = oauthEndpoints,
): OAuth {
  const { github, google } = clients;
  return {
    github: github && login(github, endpoints.github, 'read:user user:email', githubUser),
    google: google && login(google, endpoints.google, 'openid email', googleUser),
  };
}

function login(
  client: OAuthClient,
  endpoints: OAuthEndpoints,
  scope: string,
  readUser: (endpoints: OAuthEndpoints, accessToken: string) => Promise<OAuthIdentity>,
): OAuthLogin {
  return {
    authorizeUrl({ redirectUri, state, codeChallenge }) {
      const url = new URL(endpoints.authorize);
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: client.id,
        redirect_uri: redirectUri,
        scope,
        state,
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
      }).toString();
      return url.href;
    },
    async identify({ code, redirectUri, codeVerifier }) {
      const form = new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: client.id,
        client_secret: client.secret,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
      });
      const answer = await ask(endpoints.token, { form });
      // GitHub reports a refusal with status 200 and a field `error`.
      const { access_token: accessToken } = answer as { access_token?: unknown };
      if (typeof accessToken !== 'string') {
        throw new Error(`${new URL(endpoints.token).host} answered without an access token.`);
      }
      return readUser(endpoints, accessToken);
    },
  };
}

async function githubUser(endpoints: OAuthEndpoints, accessToken: string): Promise<OAuthIdentity> {
  const [user, emails] = (await Promise.all([
    ask(endpoints.user, { accessToken }),
    ask(endpoints.emails ?? endpoints.user, { accessToken }),
  ])) as [{ id?: unknown }, { email: string; primary: boolean; verified: boolean }[]];
  const primary = Array.isArray(emails)
    ? emails.find((entry) => entry.primary && entry.verified)
    : undefined;
  return { providerId: idOf(user.id), email: primary?.email ?? null };
}

async function googleUser(endpoints: OAuthEndpoints, accessToken: string): Promise<OAuthIdentity> {
  const user = (await ask(endpoints.user, { accessToken })) as {
    sub?: unknown;
    email?: unknown;
    email_verified?: unknown;
  };
  const isVerified = user.email_verified === true && typeof user.email === 'string';
  return { providerId: idOf(user.sub), email: isVerified ? (user.email as string) : null };
}

function idOf(id: unknown): string {
  if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return String(id);
  throw new Error('The login provider answered without the id of the user.');
}

/**
 * Makes a request to a provider. @throws Error with the host and the status, but without any part
 * of the request
 */
async function ask(
  address: string,
  { form, accessToken }: { form?: URLSearchParams; accessToken?: string },
): Promise<unknown> {
  const url = new URL(address);
  const request = {
    method: form ? 'POST' : 'GET',
    body: form?.toString() ?? null,
    headers: {
      Accept: 'application/json',
      'User-Agent': 'Everpost',
      ...(form && { 'Content-Type': 'application/x-www-form-urlencoded' }),
      ...(accessToken !== undefined && { Authorization: `Bearer ${accessToken}` }),
    },
    signal: AbortSignal.timeout(timeoutMs),
  };
  const bytes = await exchange(url, request, (answer) => readSuccess(url, answer, answerBytesMax));
  return JSON.parse(bytes.toString());
}
