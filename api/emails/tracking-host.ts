import type { Middleware, Next } from 'koa';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { isTrackingHost } from '../../db/domains/domains.ts';
import { Problem } from '../../domain/errors.ts';
import { mayBeTrackingHost } from '../../domain/links/tracking-host.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';

/** Hosts of customers for the tracked links of their mail. */

export const findTrackingHost = endpoint({
  id: 'findTrackingHost',
  method: 'GET',
  path: '/t/host',
  summary: 'Ask if a host is the tracking host of a verified sender domain',
  description:
    'For proxies that get certificates on demand. RESOURCE_NOT_FOUND: it is not one. No rate limit.',
  access: 'open',
  limit: 'none',
  query: z.object({
    domain: z
      .string()
      .describe('The name of the host')
      .meta({ examples: ['go.shop.example.com'] }),
  }),
  response: z.object({ domain: z.string() }),
  problems: ['RESOURCE_NOT_FOUND'],
  example: { response: { domain: 'go.shop.example.com' } },
  async handle({ db, query }) {
    const domain = nameOf(query.domain);
    const isKnown = mayBeTrackingHost(domain) && (await isTrackingHost(db, domain));
    if (!isKnown) throw new Problem('RESOURCE_NOT_FOUND');
    return { domain };
  },
});

/**
 * Milliseconds for which a process remembers if a host is a tracking host. Clients can send any
 * host name, so a process remembers at most `rememberedMax` hosts. While it remembers so many,
 * other hosts are not looked up and not refused.
 */
const rememberedMs = 5_000;
const rememberedMax = 1_000;

/** Refuses all paths on tracking hosts, except the paths of tracked links. */
export function refuseOnTrackingHosts({ db, config }: Services): Middleware {
  const own = new Set([config.apiUrl, config.dashboardUrl].map((url) => new URL(url).hostname));
  const remembered = new LRUCache<string, boolean>({ max: rememberedMax, ttl: rememberedMs });
  const isRefused = async (host: string): Promise<boolean> => {
    const known = remembered.get(host);
    if (known !== undefined) return known;
    if (remembered.size >= rememberedMax && !remembered.purgeStale()) return false;
    // If the database is unavailable, the endpoint itself returns the error.
    const found = await isTrackingHost(db, host).catch(() => false);
    remembered.set(host, found);
    return found;
  };
  const serveOthers = async (host: string, next: Next): Promise<unknown> => {
    if (await isRefused(host)) throw new Problem('ROUTE_NOT_FOUND');
    return next();
  };
  return (ctx, next) => {
    const host = nameOf(ctx.hostname);
    if (own.has(host) || !mayBeTrackingHost(host) || ctx.path.startsWith('/t/')) return next();
    return serveOthers(host, next);
  };
}

const nameOf = (host: string) => host.trim().toLowerCase().replace(/\.$/, '');
