import { Secret, TOTP } from 'otpauth';
import { cookieOf, type TestAnswer, type TestApi } from './api.ts';

/** A simulated authenticator app. */
export interface Authenticator {
  id: string;
  secret: string;
  recoveryCodes: string[];
  /** Returns the code that is valid `offset` half minutes from now. */
  code(offset?: number): string;
}

/** Adds an authenticator app to the account of a session. Also returns the new cookie. */
export async function addAuthenticator(
  api: TestApi,
  cookie: string,
): Promise<Authenticator & { cookie: string }> {
  const begun = await api.request('POST', '/users/@me/factors/totp', { cookie, body: {} });
  if (begun.status !== 201) throw new Error(`Answered ${begun.status}: ${JSON.stringify(begun)}`);
  const { id, secret } = begun.body as { id: string; secret: string };
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = (offset = 0) => totp.generate({ timestamp: Date.now() + offset * 30_000 });
  // Uses the code of the previous half minute, so that later codes can still be used.
  const confirmed = await api.request('POST', `/users/@me/factors/totp/${id}/confirm`, {
    cookie,
    body: { code: code(-1) },
  });
  if (confirmed.status !== 200) throw new Error(JSON.stringify(confirmed.body));
  const { recoveryCodes } = confirmed.body;
  return { id, secret, code, recoveryCodes, cookie: cookieOf(confirmed) };
}

/** Returns the cookies that a response sets, as a `Cookie` header. */
export function cookiesOf({ headers }: TestAnswer): string {
  return headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
}
