import { koaBody } from 'koa-body';
import type { Context, Middleware } from 'koa';
import { Problem } from '../domain/errors.ts';
import { isUuid } from '../domain/ids.ts';
import { limits } from '../domain/limits.ts';
import { findMembership } from '../db/projects.ts';
import { type Caller, findCaller, findSessionUser, refuseDisabled } from './auth.ts';
import { type AnyEndpoint, Answer, type Services } from './endpoint.ts';
import { asProblem, errorBody } from './envelope.ts';
import { type FirstUse, type StoredAnswer, useIdempotencyKey } from './idempotency.ts';
import { checkRequest } from './validation.ts';

/**
 * What every request passes, in the order in which refusals win: body size, content type,
 * credentials, disabled project, rate limit, JSON syntax, idempotency, schema, the handler.
 */
export function pipeline(endpoint: AnyEndpoint, services: Services): Middleware {
  return async (ctx) => {
    const takesBody = ['POST', 'PUT', 'PATCH'].includes(endpoint.method) || !!endpoint.body;
    if (takesBody) refuseUnreadableBody(ctx);
    const caller = await identify(ctx, endpoint, services);
    ctx.state['projectId'] = caller?.kind === 'project' ? caller.projectId : undefined;
    if (caller?.kind === 'project' && endpoint.method !== 'GET') refuseDisabled(caller.project);
    await countRequest(ctx, endpoint, caller, services);
    const body = takesBody ? await readJson(ctx) : undefined;

    const ownerId = idempotencyOwner(endpoint, caller);
    const key = ctx.get('idempotency-key');
    const run = () => runHandler(ctx, endpoint, caller, body, services);
    // A header without a value is a key that is too short, not a request without a key.
    if (ownerId === null || ctx.headers['idempotency-key'] === undefined) {
      send(ctx, await run());
      return;
    }
    const use = await useIdempotencyKey(
      { db: services.db, seal: services.seal, ttlHours: services.config.idempotencyTtlHours },
      { ownerId, key, method: endpoint.method, path: ctx.path, body },
    );
    if ('replay' in use) {
      ctx.set('Idempotency-Replayed', 'true');
      send(ctx, use.replay);
      return;
    }
    const answered = await run().catch(async (error: unknown) => {
      // Where the key cannot be settled, it stays taken until it is stale.
      await settleRefusal(use.first, error, ctx.state['requestId'] as string).catch(() => {});
      throw error;
    });
    await use.first.complete(answered);
    send(ctx, answered);
  };
}

/**
 * What an error does to the key. A refusal frees it, and so does a service that is away: the
 * request is worth trying again. Our own failure may have done part of the work, so it is kept as
 * the answer.
 */
async function settleRefusal(use: FirstUse, error: unknown, requestId: string): Promise<void> {
  const problem = asProblem(error);
  if (problem.status < 500 || problem.status === 503) return use.release();
  const text = JSON.stringify(errorBody(problem, requestId));
  return use.complete({ status: problem.status, text });
}

async function runHandler(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  body: unknown,
  services: Services,
): Promise<StoredAnswer> {
  const parts = checkRequest(endpoint, { params: ctx['params'], query: { ...ctx.query }, body });
  const result = await endpoint.handle({
    ...services,
    ...parts,
    caller,
    request: {
      id: ctx.state['requestId'] as string,
      ip: ctx.ip,
      header: (name) => ctx.get(name),
    },
    findSessionUser: () => findSessionUser(ctx, services),
    count: (scope, counted) => services.rateLimits.count(ctx, scope, counted),
  });
  const { data: given, options } = result instanceof Answer ? result : new Answer(result, {});
  const status = options.status ?? endpoint.status ?? 200;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // What the answer depends on adds up: who asks from another origin depends on it, too.
    if (name === 'Vary') ctx.vary(value);
    else ctx.set(name, value);
  }
  const contentType = options.contentType ?? endpoint.contentType;
  if (contentType) ctx.type = contentType;
  if (contentType) return { status, text: String(given) };
  const data: unknown = endpoint.response.parse(given);
  const shown = endpoint.wrapped ? { success: true, data } : data;
  return { status, text: status === 204 ? '' : JSON.stringify(shown) };
}

function send(ctx: Context, { status, text }: StoredAnswer): void {
  ctx.status = status;
  if (status === 204 || status === 302) {
    ctx.body = null;
    ctx.status = status;
    return;
  }
  if (!ctx.type) ctx.type = 'application/json';
  if (ctx.type === 'application/json' && !ctx.response.get('cache-control')) {
    ctx.set('Cache-Control', 'no-store');
  }
  ctx.body = text;
}

function refuseUnreadableBody(ctx: Context): void {
  const length = ctx.request.length ?? 0;
  if (length > limits.jsonBodyBytes) throw new Problem('PAYLOAD_TOO_LARGE');
  const hasBody = length > 0 || ctx.get('transfer-encoding') !== '';
  if (hasBody && !ctx.request.is('application/json')) throw new Problem('UNSUPPORTED_MEDIA_TYPE');
}

const parseJson = koaBody({
  json: true,
  jsonStrict: false,
  jsonLimit: limits.jsonBodyBytes,
  text: false,
  urlencoded: false,
  multipart: false,
  parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
});

async function readJson(ctx: Context): Promise<unknown> {
  try {
    await parseJson(ctx, async () => {});
  } catch (error) {
    const status = (error as { status?: number }).status;
    throw new Problem(status === 413 ? 'PAYLOAD_TOO_LARGE' : 'INVALID_REQUEST_BODY');
  }
  // Without a body the parser answers nothing or ''; a body may itself be the text "".
  const body: unknown = ctx.request.body;
  return body === undefined || (body === '' && !ctx.request.length) ? {} : body;
}

/** The caller. Refused credentials count against the address they come from. */
async function identify(ctx: Context, endpoint: AnyEndpoint, services: Services): Promise<Caller> {
  try {
    return await findCaller(ctx, endpoint.access, services);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      await services.rateLimits.count(ctx, 'ip', ctx.ip);
    }
    throw error;
  }
}

async function countRequest(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  { db, rateLimits }: Services,
): Promise<void> {
  if (endpoint.limit === 'none') return;
  if (caller?.kind === 'project') return rateLimits.count(ctx, 'project', caller.projectId);
  if (caller?.kind === 'user') {
    const named = endpoint.projectParam
      ? (ctx['params'] as Record<string, string>)[endpoint.projectParam]
      : undefined;
    // A stranger must not use up another project's window by naming it.
    const member = isUuid(named) && (await findMembership(db, named, caller.userId));
    return member
      ? rateLimits.count(ctx, 'project', named.toLowerCase())
      : rateLimits.count(ctx, 'user', caller.userId);
  }
  return endpoint.limit === 'auth'
    ? rateLimits.count(ctx, 'auth', `${endpoint.id} ${ctx.ip}`)
    : rateLimits.count(ctx, 'ip', ctx.ip);
}

/** Who owns the keys of a request, or null where the header is ignored. */
function idempotencyOwner(endpoint: AnyEndpoint, caller: Caller): string | null {
  if (endpoint.method !== 'POST' || endpoint.idempotent === false || caller === null) return null;
  if (caller.kind === 'project') return caller.projectId;
  return endpoint.access === 'project' || endpoint.idempotent === true ? caller.userId : null;
}
