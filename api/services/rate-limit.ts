import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';
import type { Pool } from 'pg';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { Config } from '../../config.ts';
import { Problem } from '../../domain/errors.ts';

/** Limits that apply in addition to the general limit of requests. */
const additional: ReadonlySet<LimitName> = new Set(['failedLogin', 'providerTest']);

/** Default length of a counting window, in seconds. A window starts with its first request. */
const windowSeconds = 60;

export type LimitName =
  | 'project'
  | 'user'
  | 'ip'
  | 'auth'
  | 'failedLogin'
  | 'accountLogin'
  | 'providerTest';

/**
 * Returns the key by which a client is counted: an IPv4 address, also if written as IPv6
 * (`::ffff:192.0.2.1`), or the /64 network of an IPv6 address. A /64 is the smallest network that a
 * customer gets (RFC 6177), and one machine may use any of its 2^64 addresses.
 */
export function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (address.kind() === 'ipv4') return address.toString();
  const network = ipaddr.IPv6.networkAddressFromCIDR(`${address.toString().replace(/%.*/, '')}/64`);
  return `${network.toString()}/64`;
}

export interface RateLimits {
  /**
   * Counts one request.
   * @throws Problem RATE_LIMIT_EXCEEDED when the limit of the window is reached.
   */
  count(ctx: Context, limit: LimitName, key: string): Promise<void>;
  /**
   * Counts one request. Returns 0; if the limit of the window is reached, returns the seconds until
   * the window ends.
   */
  take(limit: LimitName, key: string): Promise<number>;
  /** Subtracts a counted request. */
  giveBack(limit: LimitName, key: string): Promise<void>;
  /** Resets the window of a key. */
  forget(limit: LimitName, key: string): Promise<void>;
}

/**
 * Counts requests in PostgreSQL, for all API processes together. If PostgreSQL is unavailable,
 * requests are allowed, because a limit must not make the API unavailable.
 */
export function createRateLimits(pool: Pool, settings: Config['rateLimit']): RateLimits {
  if (!settings.enabled) {
    const nothing = async () => {};
    return { count: nothing, take: async () => 0, giveBack: nothing, forget: nothing };
  }
  const limiter = (keyPrefix: LimitName, points: number, duration = windowSeconds) =>
    new RateLimiterPostgres({
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limit',
      tableCreated: true,
      keyPrefix,
      points,
      duration,
    });
  const limiters = {
    project: limiter('project', settings.projectPerMinute),
    user: limiter('user', settings.projectPerMinute),
    ip: limiter('ip', settings.ipPerMinute),
    auth: limiter('auth', settings.authPerMinute),
    failedLogin: limiter('failedLogin', settings.authPerMinute, 15 * 60),
    // The limit is 100 with the default `authPerMinute` of 10, because NIST SP 800-63B (5.2.2)
    // allows at most 100 guesses for one account.
    accountLogin: limiter('accountLogin', settings.authPerMinute * 10, 60 * 60),
    // Few tests are allowed, because a test of a provider may take 15 seconds.
    providerTest: limiter('providerTest', 20),
  };
  return {
    async count(ctx, limit, key) {
      const limiter = limiters[limit];
      const result = await limiter.consume(key).catch((error: unknown) => error);
      if (!isResult(result)) return;
      const seconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000));
      const isOver = result.consumedPoints > limiter.points;
      // Some limits apply in addition to the general limit of the caller. The headers describe the
      // general limit, unless the additional limit refuses the request.
      if (isOver || !additional.has(limit)) {
        ctx.set('RateLimit-Limit', String(limiter.points));
        ctx.set('RateLimit-Remaining', String(Math.max(0, result.remainingPoints)));
        ctx.set('RateLimit-Reset', String(seconds));
      }
      if (!isOver) return;
      ctx.state['overLimit'] = result.consumedPoints - limiter.points;
      ctx.set('Retry-After', String(seconds));
      throw new Problem('RATE_LIMIT_EXCEEDED', { details: { retryAfter: seconds } });
    },
    async take(limit, key) {
      const result = await limiters[limit].consume(key).catch((error: unknown) => error);
      const isOver = isResult(result) && result.consumedPoints > limiters[limit].points;
      return isOver ? Math.max(1, Math.ceil(result.msBeforeNext / 1000)) : 0;
    },
    async giveBack(limit, key) {
      await limiters[limit].reward(key).catch(() => {});
    },
    async forget(limit, key) {
      await limiters[limit].delete(key).catch(() => false);
    },
  };
}

function isResult(value: unknown): value is RateLimiterRes {
  return value instanceof RateLimiterRes;
}
