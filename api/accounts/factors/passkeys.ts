import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { z } from 'zod';
import {
  type FactorRow,
  findPasskey,
  insertPasskey,
  listFactors,
  updatePasskeyUse,
} from '../../../db/accounts/factors.ts';
import { findUser, lockUser } from '../../../db/accounts/users.ts';
import { transact } from '../../../db/database.ts';
import { Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { startSession } from '../../access/session.ts';
import { refuseSignInWay } from '../../access/sign-in-ways.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { exampleOf, present } from '../../http/record.ts';
import type { Services } from '../../services/services.ts';
import { countLogin, forgetLogin } from '../login-limits.ts';
import { recordFactorChange } from '../mail.ts';
import { Account, noteSignIn } from '../sign-in.ts';
import { forgetChallenge, newChallenge, answeredChallenge } from './challenge.ts';
import { aboutFactor, Factor, FactorName, factorLimit, NewFactor } from './factors.ts';
import { renewRecoveryCodes } from './recovery-codes.ts';
import { addFactor, completeProof, findProver, knownUser } from './second-factor.ts';

/** Passkeys (WebAuthn Level 2): as a second factor, and as a login without a password. */

/** ES256, RS256 and EdDSA, by their COSE numbers. */
const algorithms = [-7, -257, -8];

const Options = z.record(z.string(), z.unknown()).meta({
  description: 'Options of WebAuthn in their JSON form, for the browser',
});

/** The response of a browser. The WebAuthn library checks its parts. */
const Response = z
  .looseObject({
    id: z.string().min(1).max(1_400),
    rawId: z.string().max(1_400),
    response: z.record(z.string(), z.unknown()),
    type: z.literal('public-key'),
    clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
  })
  .meta({ description: 'The result of the browser for the options, in its JSON form' });

const example = {
  id: 'AQIDBAUGBwgJCgsMDQ4PEA',
  rawId: 'AQIDBAUGBwgJCgsMDQ4PEA',
  response: { clientDataJSON: 'eyJ0eXBlIjoi…' },
  type: 'public-key' as const,
  clientExtensionResults: {},
};

/**
 * Returns the host for which passkeys are valid, and the origins of the pages that may use them.
 */
function partyOf({ webauthnRpId, dashboardUrl, apiUrl }: Services['config']) {
  const rpID = webauthnRpId ?? new URL(dashboardUrl).hostname;
  return { rpID, origins: [new URL(dashboardUrl).origin, new URL(apiUrl).origin] };
}

const namesOf = (rows: readonly FactorRow[]) =>
  rows.flatMap(({ credential_id: id, transports }) =>
    id === null ? [] : [{ id, ...(transports && { transports: transports as never[] }) }],
  );

const creationOptions = endpoint({
  id: 'createPasskeyOptions',
  method: 'POST',
  path: '/users/@me/factors/passkey/options',
  summary: 'Begin to add a passkey',
  description:
    'Sets a cookie for 5 minutes. Pass the response to `navigator.credentials.create`, and its ' +
    'result to POST /users/@me/factors/passkey. FACTOR_LIMIT: the account has 10 factors.',
  access: 'session',
  fresh: true,
  response: Options,
  problems: ['FACTOR_LIMIT'],
  example: { response: { challenge: 'mK2…', rp: { id: 'app.shop.example', name: 'Everpost' } } },
  async handle({ db, config, caller }) {
    const factors = await listFactors(db, caller.userId);
    if (factors.length >= limits.factors) throw factorLimit();
    const { challenge, cookie } = await newChallenge(config);
    const options = await generateRegistrationOptions({
      rpName: 'Everpost',
      rpID: partyOf(config).rpID,
      userName: caller.email,
      userID: new Uint8Array(Buffer.from(caller.userId)),
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      timeout: 5 * 60_000,
      attestationType: 'none',
      excludeCredentials: namesOf(factors),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      supportedAlgorithmIDs: algorithms,
    });
    return answer({ ...options }, { headers: { 'Set-Cookie': cookie } });
  },
});

const addPasskey = endpoint({
  id: 'addPasskey',
  method: 'POST',
  path: '/users/@me/factors/passkey',
  summary: 'Add a passkey to the account',
  description:
    'It works as a second factor, and as a login without a password. The session of this request ' +
    'has a factor now; the cookie of the response replaces its cookie. INVALID_PASSKEY: the ' +
    '`response` does not fit the options, or the options are older than 5 minutes. CONFLICT: the passkey belongs ' +
    'to an account already.',
  access: 'session',
  fresh: true,
  status: 201,
  body: z.object({ name: FactorName, response: Response }),
  response: NewFactor,
  problems: ['INVALID_PASSKEY', 'FACTOR_LIMIT', 'CONFLICT'],
  example: { body: { name: 'Laptop', response: example }, response: exampleOf(NewFactor) },
  async handle({ db, config, request, caller, body, note }) {
    const challenge = await answeredChallenge(db, request.cookie, config);
    const { rpID, origins } = partyOf(config);
    const verified =
      challenge !== null &&
      (await verifyRegistrationResponse({
        response: body.response as never,
        expectedChallenge: challenge,
        expectedOrigin: origins,
        expectedRPID: rpID,
        requireUserVerification: true,
        supportedAlgorithmIDs: algorithms,
      }).catch(() => null));
    if (!verified || !verified.registrationInfo) throw new Problem('INVALID_PASSKEY');
    const { credential } = verified.registrationInfo;
    return transact(db, async (tx) => {
      const user = await lockUser(tx, caller.userId);
      if (!user) throw new Problem('UNAUTHORIZED');
      const others = await listFactors(tx, user.id);
      if (others.length >= limits.factors) throw factorLimit();
      const row = await insertPasskey(tx, {
        userId: user.id,
        name: body.name ?? 'Passkey',
        credentialId: credential.id,
        publicKey: Buffer.from(credential.publicKey),
        counter: credential.counter,
        transports: credential.transports ?? null,
      });
      if (!row) {
        throw new Problem('CONFLICT', {
          message: 'This passkey already belongs to an account.',
          suggestion: 'Use another passkey, or remove it from that account.',
        });
      }
      const recoveryCodes = others.length === 0 ? await renewRecoveryCodes(tx, user.id) : null;
      await note({ event: 'factor.added', ...aboutFactor(row) }, tx);
      await recordFactorChange(tx, config, user, { change: 'added', name: row.name });
      const cookie = await addFactor(
        { db: tx, config, request },
        user,
        caller.sessionId,
        'passkey',
      );
      const data = { factor: present(Factor, row), recoveryCodes };
      return answer(data, { headers: { 'Set-Cookie': [cookie, forgetChallenge(config)] } });
    });
  },
});

const requestOptions = endpoint({
  id: 'usePasskeyOptions',
  method: 'POST',
  path: '/auth/passkey/options',
  summary: 'Begin to log in with a passkey',
  description:
    'Sets a cookie for 5 minutes. Pass the response to `navigator.credentials.get`, and its ' +
    'result to POST /auth/passkey. `allowCredentials` is empty unless a login is pending or ' +
    'there is a session.',
  access: 'open',
  wrapped: true,
  body: z.object({}),
  response: Options,
  problems: ['ORIGIN_NOT_ALLOWED'],
  example: { body: {}, response: { challenge: 'mK2…', rpId: 'app.shop.example' } },
  async handle(call) {
    const { db, config } = call;
    const userId = await knownUser(call);
    const { challenge, cookie } = await newChallenge(config);
    const options = await generateAuthenticationOptions({
      rpID: partyOf(config).rpID,
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      timeout: 5 * 60_000,
      userVerification: 'required',
      allowCredentials: userId === null ? [] : namesOf(await listFactors(db, userId)),
    });
    return answer({ ...options }, { headers: { 'Set-Cookie': cookie } });
  },
});

const usePasskey = endpoint({
  id: 'usePasskey',
  method: 'POST',
  path: '/auth/passkey',
  summary: 'Log in with a passkey, or prove it as a second factor',
  description:
    'Sets the session cookie. Without a pending login or a session, the passkey alone logs in. ' +
    'INVALID_CREDENTIALS: the `response` does not fit the options, the options are older than 5 ' +
    'minutes, or the passkey belongs to no account or to another one. SSO_REQUIRED: the address of the account ' +
    'must log in by its identity provider.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ response: Response }),
  response: Account,
  problems: ['INVALID_CREDENTIALS', 'UNAUTHORIZED', 'ORIGIN_NOT_ALLOWED', 'SSO_REQUIRED'],
  example: { body: { response: example }, response: exampleOf(Account) },
  async handle(call) {
    const { db, config, request, body, note, noteRefusal } = call;
    const { response } = body;
    const prover = (await knownUser(call)) === null ? null : await findProver(call);
    const factor = await findPasskey(db, response.id);
    const user = factor && (await findUser(db, factor.user_id));
    const counters = await countLogin(call, user?.email ?? `passkey ${response.id}`);
    const challenge = await answeredChallenge(db, request.cookie, config);
    const isTheirs = user && (prover === null || prover.user.id === user.id);
    const counter =
      factor && isTheirs && challenge !== null
        ? await verify(config, { response, challenge, factor })
        : 'wrong';
    if (!factor || !user || typeof counter === 'string') {
      const event = counter === 'cloned' ? 'passkey.cloned' : 'factor.refused';
      noteRefusal({ event, userId: user?.id ?? null });
      throw new Problem('INVALID_CREDENTIALS', {
        message: 'The passkey could not be verified.',
        suggestion: 'Get new options with POST /auth/passkey/options, or log in another way.',
      });
    }
    if (!prover) refuseSignInWay(config, user.email, 'passkey');
    const cookies = await transact(db, async (tx) => {
      await lockUser(tx, user.id);
      await updatePasskeyUse(tx, factor.id, counter);
      if (prover) return completeProof(call, tx, prover, 'passkey');
      const signIn = { method: 'passkey', secondFactor: 'passkey' } as const;
      const cookie = await startSession({ db: tx, config, request }, user, signIn);
      await noteSignIn({ db: tx, config, request, note }, user.id, signIn);
      return [cookie];
    });
    await forgetLogin(call, counters);
    const data = { id: user.id, email: user.email };
    return answer(data, { headers: { 'Set-Cookie': [...cookies, forgetChallenge(config)] } });
  },
});

/**
 * Returns the new signature counter of a passkey. `wrong`: the response is not valid; `cloned`: the
 * counter did not increase, so the passkey was copied.
 */
async function verify(
  config: Services['config'],
  given: { response: z.output<typeof Response>; challenge: string; factor: FactorRow },
): Promise<number | 'wrong' | 'cloned'> {
  const { response, challenge, factor } = given;
  const { credential_id: id, public_key: publicKey, counter } = factor;
  if (id === null || publicKey === null) return 'wrong';
  const { rpID, origins } = partyOf(config);
  const known = Number(counter);
  const check = async (since: number) =>
    verifyAuthenticationResponse({
      response: response as never,
      expectedChallenge: challenge,
      expectedOrigin: origins,
      expectedRPID: rpID,
      requireUserVerification: true,
      credential: { id, publicKey: new Uint8Array(publicKey), counter: since },
    }).catch(() => null);
  // The library is called with counter 0, because its errors have no codes. The real counter is
  // compared below.
  const verified = await check(0);
  if (!verified?.verified) return 'wrong';
  const { newCounter } = verified.authenticationInfo;
  return known > 0 && newCounter <= known ? 'cloned' : newCounter;
}

export const passkeyEndpoints = [creationOptions, addPasskey, requestOptions, usePasskey];
