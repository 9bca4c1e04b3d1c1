import { randomUUID } from 'node:crypto';
import Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import { Problem } from '../domain/errors.ts';
import { maskUnknownPath } from '../domain/logging.ts';
import { cors } from './http/cors.ts';
import type { AnyEndpoint } from './http/endpoint.ts';
import type { Services } from './services/services.ts';
import { endpoints } from './endpoints.ts';
import { consoleRoutes } from './console/routes.ts';
import { refuseOnTrackingHosts } from './emails/tracking-host.ts';
import { SecondFactorPending } from './accounts/sign-in.ts';
import { asProblem, errorBody } from './http/envelope.ts';
import { docsRoutes } from './docs/pages.ts';
import { requestMessage } from './http/log.ts';
import { pipeline } from './http/pipeline.ts';
import { logRefusedAccess } from './access/security-log.ts';
import { recordRequests } from './requests/recording.ts';

/** Returns the API as a Koa application, not listening yet. */
export function createApp(services: Services): Koa {
  const { config } = services;
  // The proxy adds the last address in X-Forwarded-For. The client may have written the others.
  const app = new Koa({ proxy: config.trustProxy, maxIpsCount: 1 });
  app.silent = true;
  const router = new Router();
  const exact = new Map<string, Middleware>();
  for (const endpoint of byPrecision(endpoints)) {
    const run = pipeline(endpoint, services);
    if (!endpoint.path.includes('{')) exact.set(`${endpoint.method} ${endpoint.path}`, run);
    const steps = namedByCustomers.test(endpoint.path) ? [run] : [refuseWordAsId, run];
    router.register(routePath(endpoint), [endpoint.method], steps);
  }
  app.use(requestMetrics(services));
  app.use(requestId);
  app.use(recordRequests(services));
  app.use(requestLog(services));
  app.use(securityHeaders(config.apiUrl));
  app.use(cors(config));
  app.use(errors(services));
  app.use(refuseOnTrackingHosts(services));
  app.use(docsRoutes(endpoints, config));
  app.use(consoleRoutes(config));
  app.use(withoutParameters(exact));
  app.use(router.routes());
  app.use(unmatched);
  return app;
}

/**
 * Finds endpoints whose paths have no parameters by look-up, because the router would try each path
 * in turn.
 */
function withoutParameters(exact: ReadonlyMap<string, Middleware>): Middleware {
  return (ctx, next) => {
    const run = exact.get(`${ctx.method} ${ctx.path}`);
    if (!run) return next();
    ctx['params'] = {};
    return run(ctx, next);
  };
}

function routePath(endpoint: AnyEndpoint): string {
  // The key of a file is the rest of the path, including slashes.
  return endpoint.path.replace('{key}', '*key').replaceAll(/\{(\w+)\}/g, ':$1');
}

/**
 * Sorts endpoints so that fixed words come before parameters. Then `fields` in `/contacts/fields`
 * is never read as an id.
 */
function byPrecision(list: readonly AnyEndpoint[]): AnyEndpoint[] {
  const key = (endpoint: AnyEndpoint) => endpoint.path.replaceAll(/\{\w+\}/g, '\u{10ffff}');
  return list.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** A route whose pattern matches the path of a request, for any method. */
interface Matched {
  path: string;
  methods: string[];
}

/** Returns the routes that match the path, the most specific first. */
const matchedBy = (ctx: Context) => (ctx['matched'] ?? []) as Matched[];

/**
 * Parameters whose values customers choose, so that a value may equal a fixed word of another path:
 * `DELETE /events/names` deletes the event called `names`.
 */
const namedByCustomers = /\{(eventName|field)\}/;

/**
 * Refuses a method that a path of fixed words does not have. Otherwise the router would read the
 * fixed word as an id, for example in `PATCH /contacts/fields`.
 */
const refuseWordAsId: Middleware = (ctx, next) => {
  const [first] = matchedBy(ctx);
  if (first && first.path !== ctx['_matchedRoute']) refuseMethod(ctx);
  return next();
};

/**
 * Refuses a request whose path has only other methods.
 * @throws Problem METHOD_NOT_ALLOWED
 */
function refuseMethod(ctx: Context): never {
  const [first, ...rest] = matchedBy(ctx);
  const same = [first, ...rest].filter((layer) => layer?.path === first?.path);
  ctx.set('Allow', [...new Set(same.flatMap((layer) => layer?.methods ?? []))].join(', '));
  throw new Problem('METHOD_NOT_ALLOWED');
}

const requestId: Middleware = (ctx, next) => {
  const given = ctx.get('x-request-id');
  const id = /^[\x20-\x7e]{1,128}$/.test(given) ? given : randomUUID();
  ctx.state['requestId'] = id;
  ctx.set('X-Request-ID', id);
  return next();
};

/**
 * Returns the declared path of a request, without its query. The real path is not logged, because
 * it may contain a token, an address or a customer's name.
 */
function loggedPath(ctx: Context): string {
  const endpoint = ctx.state['endpoint'] as AnyEndpoint | undefined;
  return endpoint ? endpoint.path : maskUnknownPath(ctx.path);
}

/** Counts requests by their declared path, so that ids and addresses create no new time series. */
function requestMetrics({ metrics }: Services): Middleware {
  return async (ctx, next) => {
    const startedAt = performance.now();
    await next();
    const endpoint = ctx.state['endpoint'] as AnyEndpoint | undefined;
    const { method, path: route } = endpoint ?? { method: 'other', path: 'none' };
    const seconds = (performance.now() - startedAt) / 1000;
    metrics.countRequest({ method, route, status: ctx.status, seconds });
  };
}

function requestLog({ config, log: whole }: Services): Middleware {
  // The redaction of secrets is turned off. None of these fields has the name of a secret, and
  // searching for such names would take longer than writing the line.
  const log = whole.child({}, { redact: [] });
  return async (ctx, next) => {
    const startedAt = performance.now();
    await next();
    if (!config.requestLogging) return;
    log.info(
      {
        requestId: ctx.state['requestId'] as string,
        method: ctx.method,
        path: loggedPath(ctx),
        status: ctx.status,
        userId: ctx.state['userId'] as string | undefined,
        ms: Math.round(performance.now() - startedAt),
        projectId: ctx.state['projectId'] as string | undefined,
      },
      requestMessage,
    );
  };
}

/**
 * Content-Security-Policy of all responses except pages. A browser that shows such a response as a
 * page loads and runs nothing.
 */
const apiPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sets the headers of every response. Pages replace the policy by their own. */
function securityHeaders(apiUrl: string): Middleware {
  const headers = Object.entries({
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': apiPolicy,
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    ...(apiUrl.startsWith('https:') && {
      'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
    }),
  });
  return ({ res }, next) => {
    for (const [name, value] of headers) res.setHeader(name, value);
    return next();
  };
}

/** Seconds in the header `Retry-After` of SERVICE_UNAVAILABLE. */
const retrySeconds = 5;

function errors({ log }: Services): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const problem = asProblem(error);
      ctx.state['problem'] = problem;
      const requestId = ctx.state['requestId'] as string;
      if (problem.status >= 500) log.error({ requestId, error }, 'request failed');
      if (isRefusedAccess(problem)) {
        logRefusedAccess(log, ctx, { code: problem.code, path: loggedPath(ctx) });
      }
      ctx.status = problem.status;
      ctx.type = 'application/json';
      ctx.set('Cache-Control', 'no-store');
      if (problem instanceof SecondFactorPending) ctx.set('Set-Cookie', [...problem.cookies]);
      const { retryAfter } = problem.details ?? {};
      if (problem.status === 429) ctx.set('Retry-After', String(retryAfter));
      if (problem.code === 'SERVICE_UNAVAILABLE') ctx.set('Retry-After', String(retrySeconds));
      ctx.body = JSON.stringify(errorBody(problem, requestId));
    }
  };
}

/**
 * Returns true if the caller is unknown or has no permission. Wrong passwords have their own
 * events.
 */
function isRefusedAccess({ status, code }: Problem): boolean {
  return (status === 401 || status === 403) && code !== 'INVALID_CREDENTIALS';
}

/** Handles a request for which no endpoint ran: the path is unknown, or has other methods. */
const unmatched: Middleware = (ctx: Context) => {
  if (matchedBy(ctx).length === 0) throw new Problem('ROUTE_NOT_FOUND');
  refuseMethod(ctx);
};
