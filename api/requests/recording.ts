import { randomUUID } from 'node:crypto';
import type { Context, Middleware } from 'koa';
import ipaddr from 'ipaddr.js';
import type { StoredRequest } from '../../db/requests/store.ts';
import type { Problem } from '../../domain/errors.ts';
import { loggedDetails, loggedErrors } from '../../domain/access/logged-error.ts';
import { actorOf, type ProjectCaller } from '../access/caller.ts';
import { findRequester, type Requester } from '../access/requester.ts';
import { isInConsole } from '../console/routes.ts';
import type { Services } from '../services/services.ts';
import type { AnyEndpoint } from '../http/endpoint.ts';

/**
 * Maximum number of requests over the rate limit that are recorded for a project in each window.
 */
const overLimitMax = 60;
/** Maximum number of concurrent look-ups of the project of a refused request. */
const lookUpsMax = 20;
/** Routes with very many requests. Only a sample of their successful requests is recorded. */
const sampledRoutes: ReadonlySet<string> = new Set(['/v1/track', '/events/track']);

/** The values in `ctx.state` that the request log reads. */
interface LogState {
  requestId: string;
  /** undefined: no endpoint has this path and method. */
  endpoint?: AnyEndpoint;
  /** The caller in the project of the request, once it is known. */
  member?: ProjectCaller | null;
  /** The use of the request's Idempotency-Key. */
  idempotency?: StoredRequest['idempotency'];
  /** The number of requests over the rate limit in the current window, including this one. */
  overLimit?: number;
  problem?: Problem;
}

/**
 * Adds each request of a project to its request log, after the response. If a request was refused
 * before its project was known, the project is looked up.
 */
export function recordRequests(services: Services): Middleware {
  const { requestLog, config, metrics, log } = services;
  if (!requestLog) return (_ctx, next) => next();
  const { trackSample } = config.requestLog;
  const refused = new MinuteCounts(config.rateLimit.projectPerMinute + overLimitMax);
  let lookUps = 0;
  const record = (ctx: Context, at: Date, ms: number) => {
    const state = ctx.state as LogState;
    const { endpoint, member } = state;
    if (isPage(ctx, endpoint) || (state.overLimit ?? 0) > overLimitMax) return;
    const isSampled = ctx.status < 300 && sampledRoutes.has(endpoint?.path ?? '');
    const sample = isSampled ? trackSample : 1;
    if (sample > 1 && Math.random() * sample >= 1) return;
    const add = ({ ownerId, actor }: Requester) => {
      if (ctx.status >= 400 && refused.isOver(ownerId)) return metrics.countUnloggedRequests(1);
      requestLog.add({ ...entryOf(ctx, state), ownerId, actor, at, ms, sample });
    };
    if (member) return add({ ownerId: member.project.publicId, actor: actorOf(member) });
    if (ctx.status < 400 || ctx.status === 429) return;
    if (lookUps >= lookUpsMax) return metrics.countUnloggedRequests(1);
    lookUps += 1;
    void findRequester(ctx, endpoint, services)
      .then((requester) => requester && add(requester))
      .catch(() => metrics.countUnloggedRequests(1))
      .finally(() => (lookUps -= 1));
  };
  return async (ctx, next) => {
    const at = new Date();
    const startedAt = performance.now();
    await next();
    try {
      record(ctx, at, Math.round(performance.now() - startedAt));
    } catch (error) {
      // Only the log entry is lost; the request itself has succeeded.
      log.error({ error }, 'A request could not be added to the request log');
    }
  };
}

/**
 * Counts the refused requests of projects per minute. Some requests are refused before they count
 * for the rate limit. Without a maximum here, anyone with a public key could fill the request log
 * of its project with such requests.
 */
class MinuteCounts {
  readonly #max: number;
  readonly #counts = new Map<string, number>();
  #minute = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts a request. Returns true if the project has exceeded the maximum in this minute. */
  isOver(ownerId: string): boolean {
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute) this.#counts.clear();
    this.#minute = minute;
    const count = (this.#counts.get(ownerId) ?? 0) + 1;
    this.#counts.set(ownerId, count);
    return count > this.#max;
  }
}

/** Returns true for requests that no client of the API makes: pages, and files of the console. */
function isPage(ctx: Context, endpoint: AnyEndpoint | undefined): boolean {
  return endpoint ? endpoint.access === 'open' : isInConsole(ctx.path);
}

function entryOf(ctx: Context, state: LogState) {
  const { endpoint, problem } = state;
  return {
    id: randomUUID(),
    requestId: state.requestId,
    method: ctx.method,
    route: endpoint?.path ?? null,
    status: ctx.status,
    errorCode: problem?.code ?? null,
    ip: addressOf(ctx.ip),
    idempotency: state.idempotency ?? null,
    errors: loggedErrors(problem?.errors),
    details: loggedDetails(problem?.details),
  };
}

/**
 * Returns the usual form of an IP address: an IPv4 address that is written as IPv6 is returned as
 * IPv4.
 */
export function addressOf(ip: string): string {
  if (!ip.includes(':')) return ip;
  return ipaddr.isValid(ip) ? ipaddr.process(ip).toString() : ip;
}
