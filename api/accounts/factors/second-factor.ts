import { z } from 'zod';
import { listFactors, takeStep, useRecoveryCode } from '../../../db/accounts/factors.ts';
import {
  deletePending,
  findPendingUser,
  type PendingSignIn,
  takeTry,
} from '../../../db/accounts/pending-sign-ins.ts';
import { replaceSession, type SecondFactor } from '../../../db/accounts/sessions.ts';
import { findUser, lockUser, type UserRow } from '../../../db/accounts/users.ts';
import { type Database, transact } from '../../../db/database.ts';
import { Problem, whenRight } from '../../../domain/errors.ts';
import type { UserCaller } from '../../access/caller.ts';
import { type Signing, startSession } from '../../access/session.ts';
import { answer, type Call, endpoint } from '../../http/endpoint.ts';
import { exampleOf } from '../../http/record.ts';
import { addFault } from '../../http/schemas.ts';
import type { Services } from '../../services/services.ts';
import { countLogin, forgetLogin } from '../login-limits.ts';
import { recordRecoveryCodeUse } from '../mail.ts';
import { hashRecoveryCode } from './recovery-codes.ts';
import { Account, forgetPending, noteSignIn, readPending } from '../sign-in.ts';
import { stepOf } from './totp.ts';

/** Proves a second factor, for a sign-in in progress or for a session. */

type OpenCall = Call<'open', unknown, unknown, unknown>;

/** The user who proves a second factor. */
export interface Prover {
  user: UserRow;
  /**
   * The sign-in that the second factor completes; null: the second factor is added to a session.
   */
  pending: { hash: Buffer; signIn: PendingSignIn['signIn'] } | null;
  session: UserCaller | null;
}

/** Returns the user id of the pending sign-in or session of a request, if any. */
export async function knownUser({
  db,
  config,
  request,
  findSessionUser,
}: Pick<OpenCall, 'db' | 'config' | 'request' | 'findSessionUser'>): Promise<string | null> {
  const hash = readPending(request.cookie, config);
  const pending = hash && (await findPendingUser(db, hash));
  return pending ?? (await findSessionUser())?.userId ?? null;
}

/**
 * Returns the user of the request's pending sign-in, and counts an attempt for it; without a
 * pending sign-in, the user of the session.
 * @throws Problem UNAUTHORIZED
 */
export async function findProver(call: OpenCall): Promise<Prover> {
  const { db, config, request } = call;
  const hash = readPending(request.cookie, config);
  const pendingUser = hash && (await findPendingUser(db, hash));
  const session = pendingUser ? null : await call.findSessionUser();
  const user = await findUser(db, pendingUser ?? session?.userId ?? noUser);
  if (!user)
    throw new Problem('UNAUTHORIZED', { suggestion: 'Log in again, then send the second factor.' });
  return { user, session, pending: hash && pendingUser ? await tryPending(db, hash) : null };
}

/** No user has this id. */
const noUser = '00000000-0000-0000-0000-000000000000';

async function tryPending(db: Database, hash: Buffer): Promise<Prover['pending']> {
  const signIn = await takeTry(db, hash);
  if (!signIn) throw new Problem('UNAUTHORIZED');
  return { hash, signIn };
}

/**
 * Completes a sign-in, or adds the second factor to the session, in the transaction that has marked
 * the proof as used. Returns the cookies of the response.
 * @throws Problem UNAUTHORIZED when another request has completed the sign-in.
 */
export async function completeProof(
  { config, request, note }: OpenCall,
  tx: Database,
  { user, pending, session }: Prover,
  secondFactor: SecondFactor,
): Promise<string[]> {
  const inTransaction = { db: tx, config, request, note };
  if (!pending) {
    return [await addFactor(inTransaction, user, session?.sessionId, secondFactor)];
  }
  if (!(await deletePending(tx, pending.hash))) throw new Problem('UNAUTHORIZED');
  const signIn = { ...pending.signIn, secondFactor };
  const cookie = await startSession(inTransaction, user, signIn);
  await noteSignIn(inTransaction, user.id, signIn);
  return [cookie, forgetPending(config)];
}

/**
 * Replaces a session by one that has a second factor and a recent sign-in. Returns its cookie.
 * @throws Problem UNAUTHORIZED when the session has ended.
 */
export async function addFactor(
  call: Signing,
  user: UserRow,
  sessionId: string | undefined,
  secondFactor: SecondFactor,
): Promise<string> {
  const replaced = sessionId && (await replaceSession(call.db, user.id, sessionId));
  if (!replaced) throw new Problem('UNAUTHORIZED');
  return startSession(call, user, { ...replaced, secondFactor });
}

const Proof = z
  .object({
    code: z.string().max(20).optional().describe('Code of an authenticator app: six digits'),
    recoveryCode: z.string().max(40).optional().describe('A recovery code, which works once'),
  })
  .superRefine(
    ({ code, recoveryCode }, context) => {
      if ((code === undefined) === (recoveryCode === undefined)) {
        addFault(context, 'custom', 'Send exactly one of `code` and `recoveryCode`.', ['code']);
      }
    },
    whenRight('code', 'recoveryCode'),
  );

const proveSecondFactor = endpoint({
  id: 'proveSecondFactor',
  method: 'POST',
  path: '/auth/second-factor',
  summary: 'Prove a second factor by a code',
  description:
    'Completes a login that was answered with SECOND_FACTOR_PENDING, or adds the factor to the ' +
    'session of the request and makes it fresh. Sets the session cookie. INVALID_CODE: the code ' +
    'is wrong or was used. UNAUTHORIZED: no login is under way, or it is over: it takes five ' +
    'minutes and five tries at most.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: Proof,
  response: Account,
  problems: ['INVALID_CODE', 'UNAUTHORIZED', 'ORIGIN_NOT_ALLOWED'],
  example: { body: { code: '492 039' }, response: exampleOf(Account) },
  async handle(call) {
    const { db, body, noteRefusal } = call;
    const prover = await findProver(call);
    const { user } = prover;
    const counters = await countLogin(call, user.email);
    const cookies = await transact(db, async (tx) => {
      await lockUser(tx, user.id);
      const factor = await checkProof(call, tx, user, body);
      return factor && completeProof(call, tx, prover, factor);
    });
    if (!cookies) {
      noteRefusal({ event: 'factor.refused', userId: user.id });
      throw new Problem('INVALID_CODE');
    }
    await forgetLogin(call, counters);
    return answer({ id: user.id, email: user.email }, { headers: { 'Set-Cookie': cookies } });
  },
});

/** Marks a code as used, and returns the factor that it proves; null: the code is wrong. */
async function checkProof(
  { cipher, config, note }: Pick<OpenCall, 'cipher' | 'config' | 'note'>,
  tx: Database,
  user: UserRow,
  { code, recoveryCode }: z.output<typeof Proof>,
): Promise<SecondFactor | null> {
  if (recoveryCode !== undefined) {
    if (!(await useRecoveryCode(tx, user.id, hashRecoveryCode(recoveryCode)))) return null;
    await note({ event: 'recovery_code.used', userId: user.id }, tx);
    await recordRecoveryCodeUse(tx, config, user);
    return 'recovery';
  }
  const isRight = await useTotp(tx, cipher, user.id, (code ?? '').replaceAll(/\s/g, ''));
  return isRight ? 'totp' : null;
}

async function useTotp(
  tx: Database,
  cipher: Services['cipher'],
  userId: string,
  code: string,
): Promise<boolean> {
  for (const { id, secret, used_step: usedStep } of await listFactors(tx, userId)) {
    if (secret === null) continue;
    const step = stepOf(cipher.decrypt(secret), code, { usedStep });
    if (step !== null && (await takeStep(tx, id, step))) return true;
  }
  return false;
}

export const secondFactorEndpoints = [proveSecondFactor];
