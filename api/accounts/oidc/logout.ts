import { createHash } from 'node:crypto';
import { z } from 'zod';
import { deleteProviderSessions } from '../../../db/accounts/sessions.ts';
import { useChallenge } from '../../../db/accounts/used-challenges.ts';
import { transact } from '../../../db/database.ts';
import { Problem } from '../../../domain/errors.ts';
import {
  logoutTokenSeconds,
  type OidcLogout,
  ProviderUnavailable,
} from '../../../providers/login/oidc.ts';
import { readForm } from '../../http/bodies/form.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { findProvider, logFailure, providerUnavailable } from './providers.ts';

/**
 * Seconds for which a used logout token is stored. A token is valid for a shorter time, even if the
 * clock of the provider is a minute ahead.
 */
const usedSeconds = 2 * logoutTokenSeconds;

export const receiveLogout = endpoint({
  id: 'receiveOidcLogout',
  method: 'POST',
  path: '/oauth/oidc/{provider}/backchannel-logout',
  summary: 'Receive a logout from an identity provider',
  description:
    'For the provider (OpenID Connect Back-Channel Logout 1.0). The body is a form with ' +
    '`logout_token`. With `sid`, the sessions of this session at the provider end; with `sub` ' +
    'alone, all sessions that this user has begun by the provider. The response is empty, also ' +
    'if there was nothing to end. INVALID_LOGOUT_TOKEN: nothing has ended. ' +
    'SERVICE_UNAVAILABLE: the keys of the provider cannot be read; send the token again.',
  access: 'open',
  limit: 'none',
  asSent: true,
  contentType: 'text/plain',
  params: z.object({ provider: z.string().max(40).describe('The id of the provider') }),
  response: z.string(),
  problems: ['OAUTH_NOT_CONFIGURED', 'INVALID_LOGOUT_TOKEN', 'SERVICE_UNAVAILABLE'],
  async handle(call) {
    const { db, request, params, note } = call;
    const found = findProvider(call, params.provider);
    const { sub, sid, jti } = await readToken(call, found, await tokenOf(request));
    const { id, issuer } = found.provider;
    const hash = createHash('sha256')
      .update(JSON.stringify(['logout', issuer, jti]))
      .digest();
    await transact(db, async (tx) => {
      // Runs in the transaction of the logout, so that the provider can repeat a failed logout.
      if (!(await useChallenge(tx, hash, usedSeconds))) throw new Problem('INVALID_LOGOUT_TOKEN');
      const logout = { issuer, subject: sub, providerSid: sid };
      const ended = await deleteProviderSessions(tx, logout);
      for (const userId of new Set(ended)) {
        const count = ended.filter((one) => one === userId).length;
        const details = { provider: id, ended: String(count) };
        await note({ event: 'logout.backchannel', userId, details }, tx);
      }
    });
    return answer('', { contentType: 'text/plain', headers: { 'Cache-Control': 'no-store' } });
  },
});

/**
 * Returns the logout token of a request.
 * @throws Problem UNSUPPORTED_MEDIA_TYPE, INVALID_LOGOUT_TOKEN
 */
async function tokenOf({
  bytes,
  header,
}: {
  bytes: Buffer;
  header: (name: string) => string;
}): Promise<string> {
  const type = header('content-type');
  const form = 'application/x-www-form-urlencoded';
  if (type.split(';')[0]?.trim().toLowerCase() !== form) {
    const suggestion = 'Set the header Content-Type to this format.';
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      message: `The body must have the content type ${form}.`,
      suggestion,
    });
  }
  const tokens = (await readForm(bytes, type)).filter(([name]) => name === 'logout_token');
  const [token] = tokens.map(([, value]) => value);
  if (tokens.length !== 1 || typeof token !== 'string') throw new Problem('INVALID_LOGOUT_TOKEN');
  return token;
}

/**
 * Verifies a logout token.
 * @throws Problem INVALID_LOGOUT_TOKEN, SERVICE_UNAVAILABLE
 */
async function readToken(
  call: Parameters<typeof logFailure>[0],
  { provider, oidc }: ReturnType<typeof findProvider>,
  token: string,
): Promise<OidcLogout> {
  try {
    return await oidc.readLogout(token);
  } catch (error) {
    logFailure(call, provider.id, error);
    if (!(error instanceof ProviderUnavailable)) throw new Problem('INVALID_LOGOUT_TOKEN');
    throw providerUnavailable(provider.id);
  }
}
