import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { replaceLink, useLink } from '../../../db/accounts/break-glass.ts';
import { deleteFactor, listFactors } from '../../../db/accounts/factors.ts';
import {
  insertSecurityEvent,
  type SecurityEvent,
  type SecurityEventName,
} from '../../../db/accounts/security-events.ts';
import { findUserByEmail, lockUser } from '../../../db/accounts/users.ts';
import { type Database, transact } from '../../../db/database.ts';
import { Problem } from '../../../domain/errors.ts';
import { startSession } from '../../access/session.ts';
import { answer, endpoint } from '../../http/endpoint.ts';
import { exampleOf } from '../../http/record.ts';
import type { Services } from '../../services/services.ts';
import { hashToken, recordBreakGlass, Token } from '../mail.ts';
import { Account, noteSignIn } from '../sign-in.ts';
import { aboutFactor } from './factors.ts';

/** One-time sign-in links that an operator creates on the server for a user who is locked out. */

/** Lifetime of a session that a sign-in link starts, in seconds. */
const sessionSeconds = 60 * 60;

/**
 * Creates a link that signs a user in once, within 15 minutes. An earlier link becomes invalid.
 * @param email the address in its stored form: trimmed and lower case
 * @returns null: no account has the address
 */
export async function issueLink(
  db: Database,
  config: Services['config'],
  email: string,
  { removeFactors }: { removeFactors: boolean },
): Promise<string | null> {
  const token = randomBytes(32).toString('hex');
  return transact(db, async (tx) => {
    const found = await findUserByEmail(tx, email);
    const user = found && (await lockUser(tx, found.id));
    if (!user) return null;
    const note = (event: SecurityEventName, about: Pick<SecurityEvent, 'target' | 'details'>) =>
      insertSecurityEvent(tx, {
        event,
        userId: user.id,
        // The operator is not a caller of the API, so there is no actor.
        actor: null,
        target: about.target,
        changes: null,
        projectId: null,
        ip: null,
        requestId: null,
        details: { by: 'operator', ...about.details },
      });
    for (const factor of removeFactors ? await listFactors(tx, user.id) : []) {
      await deleteFactor(tx, user.id, factor.id);
      await note('factor.removed', aboutFactor(factor));
    }
    await replaceLink(tx, user.id, hashToken(token));
    await note('break_glass.issued', { target: { type: 'user', id: user.id }, details: {} });
    await recordBreakGlass(tx, config, user, 'issued');
    return `${config.dashboardUrl}/auth/break-glass?token=${token}`;
  });
}

const useBreakGlass = endpoint({
  id: 'useBreakGlass',
  method: 'POST',
  path: '/auth/break-glass',
  summary: 'Log in by a link that the operator has made at the server',
  description:
    'Sets the cookie of a session of 60 minutes, which is fresh and has a second factor. ' +
    'INVALID_TOKEN: the link was used, or is older than 15 minutes, or a newer one was made.',
  access: 'open',
  limit: 'auth',
  wrapped: true,
  body: z.object({ token: Token }),
  response: Account,
  problems: ['INVALID_TOKEN'],
  example: { body: { token: '4f'.repeat(32) }, response: exampleOf(Account) },
  async handle({ db, config, request, body, note }) {
    return transact(db, async (tx) => {
      const userId = await useLink(tx, hashToken(body.token));
      const user = userId && (await lockUser(tx, userId));
      if (!user) throw new Problem('INVALID_TOKEN');
      const signIn = {
        method: 'break_glass',
        secondFactor: 'recovery',
        seconds: sessionSeconds,
      } as const;
      const call = { db: tx, config, request, note };
      const cookie = await startSession(call, user, signIn);
      const target = { type: 'user', id: user.id };
      await note({ event: 'break_glass.used', userId: user.id, target }, tx);
      await noteSignIn(call, user.id, signIn);
      await recordBreakGlass(tx, config, user, 'used');
      const data = { id: user.id, email: user.email };
      return answer(data, { headers: { 'Set-Cookie': cookie } });
    });
  },
});

export const breakGlassEndpoints = [useBreakGlass];
