import { z } from 'zod';
import { deleteIdentity, listIdentities } from '../../../db/accounts/identities.ts';
import { lockUser } from '../../../db/accounts/users.ts';
import { transact } from '../../../db/database.ts';
import { found, Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { ProviderUnavailable } from '../../../providers/login/oidc.ts';
import { canSignIn } from '../../access/sign-in-ways.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { exampleOf, present } from '../../http/record.ts';
import { ById, named, Time } from '../../http/schemas.ts';
import { beginAttempt } from './attempt.ts';
import { findProvider, providerUnavailable } from './providers.ts';

/**
 * The links between an account and users of OpenID providers. The owner of the account can sign in
 * through each linked provider.
 */

const Identity = named('Identity', {
  id: z.uuid().meta({ examples: ['1d000000-0000-4000-8000-000000000001'] }),
  provider: z
    .string()
    .describe('The id of the provider')
    .meta({ examples: ['corp'] }),
  name: z.string().meta({ examples: ['Corp'] }),
  createdAt: Time,
  lastUsedAt: Time,
});

const listMyIdentities = endpoint({
  id: 'listMyIdentities',
  method: 'GET',
  path: '/users/@me/identities',
  summary: 'List the identity providers by which the logged-in user signs in',
  description:
    'The oldest first. Links of providers that the server no longer has are listed, too.',
  access: 'session',
  response: z.array(Identity),
  example: { response: [exampleOf(Identity)] },
  async handle({ db, config: { oidc }, caller }) {
    return (await listIdentities(db, caller.userId)).map((row) => {
      const known = oidc.find(({ issuer }) => issuer === row.issuer);
      const { id: provider, name } = known ?? { id: row.provider, name: row.provider };
      return present(Identity, row, { provider, name });
    });
  },
});

const linkMyIdentity = endpoint({
  id: 'linkMyIdentity',
  method: 'POST',
  path: '/users/@me/identities',
  summary: 'Begin to link the logged-in user to an identity provider',
  description:
    'Open `url` in the browser that has the cookie of this response. The provider then redirects ' +
    'to the page /auth/linked of the dashboard. Until the session of this request ends, and for ' +
    '10 minutes at most, the user who signs in there is linked to this account. ' +
    'OAUTH_NOT_CONFIGURED: the server has no such provider. SERVICE_UNAVAILABLE: the provider ' +
    'does not answer. CONFLICT: the account has 50 links.',
  access: 'session',
  fresh: true,
  body: z.object({ provider: z.string().min(1).max(40).describe('The id of the provider') }),
  response: z.object({ url: z.string() }),
  problems: ['OAUTH_NOT_CONFIGURED', 'SERVICE_UNAVAILABLE', 'CONFLICT'],
  example: {
    body: { provider: 'corp' },
    response: { url: 'https://login.corp.example/authorize?response_type=code' },
  },
  async handle(call) {
    const { db, config, caller, body } = call;
    const { oidc } = findProvider(call, body.provider);
    if ((await listIdentities(db, caller.userId)).length >= limits.identities) {
      const message = `The account already has ${limits.identities} links to identity providers, which is the maximum.`;
      throw new Problem('CONFLICT', {
        message,
        suggestion: 'First remove one with DELETE /users/@me/identities/{id}.',
      });
    }
    const link = { userId: caller.userId, sessionId: caller.sessionId };
    const { attempt, cookie } = await beginAttempt(config, { provider: body.provider, link });
    try {
      const url = await oidc.authorizeUrl(attempt);
      return answer({ url }, { headers: { 'Set-Cookie': cookie } });
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      throw providerUnavailable(body.provider);
    }
  },
});

const unlinkMyIdentity = endpoint({
  id: 'unlinkMyIdentity',
  method: 'DELETE',
  path: '/users/@me/identities/{id}',
  summary: 'Remove a link to an identity provider',
  description:
    'The user of the provider no longer signs in to this account. Sessions go on. ' +
    'LAST_SIGN_IN_METHOD: the account would have no way to sign in. A passkey is no such way, ' +
    'because it can be lost.',
  access: 'session',
  fresh: true,
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['IDENTITY_NOT_FOUND', 'LAST_SIGN_IN_METHOD'],
  async handle({ db, config, caller: { userId }, params: { id }, note }) {
    await transact(db, async (tx) => {
      const user = await lockUser(tx, userId);
      if (!user) throw new Problem('UNAUTHORIZED');
      const all = await listIdentities(tx, userId);
      const row = found(
        'IDENTITY',
        id,
        all.find((one) => one.id === id),
      );
      const left = all.filter((one) => one !== row).map(({ issuer }) => issuer);
      if (!canSignIn(config, user, left)) throw new Problem('LAST_SIGN_IN_METHOD');
      await deleteIdentity(tx, userId, id);
      await note({ event: 'identity.unlinked', details: { provider: row.provider } }, tx);
    });
  },
});

export const identityEndpoints = [listMyIdentities, linkMyIdentity, unlinkMyIdentity];
