import { createHash } from 'node:crypto';
import { listLoginAddresses } from '../../db/accounts/security-events.ts';
import { Problem } from '../../domain/errors.ts';
import type { Call } from '../http/endpoint.ts';
import { networkOf } from '../services/rate-limit.ts';

/** Limits for wrong passwords and codes. */

type Counting = Pick<
  Call<'open', unknown, unknown, unknown>,
  'db' | 'rateLimits' | 'count' | 'request' | 'noteRefusal'
>;

/** The counters of a login. */
export interface LoginCounters {
  source: string;
  account: string;
}

/**
 * Counts a login before its password or code is checked, so that concurrent guesses cannot exceed
 * the limit. When the login succeeds, `forgetLogin` subtracts it.
 * Guesses are limited per network and account. If many networks guess the password of one account,
 * networks that have never logged in to the account must wait. So an attacker cannot lock out the
 * owner, whose network is known. A password reset by mail also makes a network known.
 * Addresses without an account are counted, too. The counters contain only a hash of the address.
 * @throws Problem RATE_LIMIT_EXCEEDED
 */
export async function countLogin(
  { db, rateLimits, count, request, noteRefusal }: Counting,
  email: string,
): Promise<LoginCounters> {
  const account = createHash('sha256').update(email).digest('hex');
  const network = networkOf(request.ip);
  const source = `${network} ${account}`;
  try {
    await count('failedLogin', source);
    const retryAfter = await rateLimits.take('accountLogin', account);
    if (retryAfter > 0) {
      const known = await listLoginAddresses(db, email);
      if (!known.some((ip) => networkOf(ip) === network)) {
        throw new Problem('RATE_LIMIT_EXCEEDED', { details: { retryAfter } });
      }
    }
  } catch (error) {
    noteRefusal({ event: 'login.refused', details: { reason: 'rate limit' } });
    throw error;
  }
  return { source, account };
}

/** Subtracts a login that has succeeded from the counters. */
export async function forgetLogin(
  { rateLimits }: Pick<Counting, 'rateLimits'>,
  { source, account }: LoginCounters,
): Promise<void> {
  await rateLimits.forget('failedLogin', source);
  await rateLimits.giveBack('accountLogin', account);
}
