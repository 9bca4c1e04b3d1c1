import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { useApi, type TestAnswer, type TestApi } from '../api.ts';
import type { OidcIssuer } from './oidc-issuer.ts';
import { cookiesOf } from '../second-factor.ts';
import { useFolder } from '../use.ts';

export const dashboard = 'https://app.shop.example';

/** Writes a settings file of OpenID providers. Returns its path. */
export async function useOidcFile(content: unknown): Promise<string> {
  const file = path.join(await useFolder(), `oidc-${randomUUID()}.json`);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

/** Returns the settings of an OpenID provider for an issuer. */
export function providerOf({ url, client }: OidcIssuer, settings: Record<string, unknown> = {}) {
  const { id: clientId, secret: clientSecret } = client;
  return { id: 'corp', name: 'Corp', issuer: url, clientId, clientSecret, ...settings };
}

/** Starts an API with OpenID providers. */
export async function useOidcApi(
  providers: Record<string, unknown>[],
  overrides: Record<string, string> = {},
): Promise<TestApi> {
  const OIDC_PROVIDERS_FILE = await useOidcFile({ providers });
  return useApi({ DASHBOARD_URL: dashboard, OIDC_PROVIDERS_FILE, ...overrides });
}

interface SignInSteps {
  id?: string;
  query?: string;
  /** Changes the address to which the issuer redirects the browser. */
  change?: (back: URL) => void;
}

/** Signs in through an issuer, following redirects as a browser does. */
export async function signInAt(
  api: TestApi,
  issuer: OidcIssuer,
  { id = 'corp', query = '', change }: SignInSteps = {},
): Promise<TestAnswer> {
  const left = await api.request('GET', `/oauth/oidc/${id}/outbound${query}`);
  const back = issuer.authorize(left.headers.get('location') ?? '');
  change?.(back);
  return api.request('GET', `${back.pathname}${back.search}`, { cookie: cookiesOf(left) });
}

/** Returns the `error` in the address to which the API has redirected; null: there is none. */
export function errorOf({ headers }: TestAnswer): string | null {
  return new URL(headers.get('location') ?? '').searchParams.get('error');
}

/**
 * Links the account of a session to the user of an issuer, following redirects as a browser does.
 */
export async function linkAt(
  api: TestApi,
  issuer: OidcIssuer,
  cookie: string,
  provider = 'corp',
): Promise<TestAnswer> {
  const begun = await beginLink(api, cookie, provider);
  const back = issuer.authorize(begun.body.url);
  return api.request('GET', `${back.pathname}${back.search}`, { cookie: cookiesOf(begun) });
}

export const beginLink = (api: TestApi, cookie: string, provider = 'corp') =>
  api.request('POST', '/users/@me/identities', { cookie, body: { provider } });
