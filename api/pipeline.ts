import { koaBody } from 'koa-body';
import type { Context, Middleware } from 'koa';
import { invalidField, Problem } from '../domain/errors.ts';
import { isUuid } from '../domain/ids.ts';
import { findLossyNumber, isNestedDeeper } from '../domain/json-body.ts';
import { limits } from '../domain/limits.ts';
import { findMembership } from '../db/projects.ts';
import {
  type Caller,
  findCaller,
  findSessionUser,
  type Project,
  refuseDisabled,
  requireVerified,
} from './auth.ts';
import { type AnyEndpoint, Answer, type Services } from './endpoint.ts';
import { asProblem, errorBody } from './envelope.ts';
import { type FirstUse, type StoredAnswer, useIdempotencyKey } from './idempotency.ts';
import { readUpload, refuseUnreadableUpload } from './upload.ts';
import { checkRequest } from './validation.ts';

/**
 * What every request passes, in the order in which refusals win: body size, content type,
 * credentials, disabled project, feature off, rate limit, JSON syntax, idempotency, schema, the handler.
 */
export function pipeline(endpoint: AnyEndpoint, services: Services): Middleware {
  return async (ctx) => {
    const takesBody = ['POST', 'PUT', 'PATCH'].includes(endpoint.method) || !!endpoint.body;
    const { upload } = endpoint;
    if (upload) refuseUnreadableUpload(ctx, upload);
    else if (takesBody) refuseUnreadableBody(ctx, endpoint);
    const caller = await identify(ctx, endpoint, services);
    const project =
      caller?.kind === 'project'
        ? caller.project
        : await namedProject(ctx, endpoint, caller, services);
    ctx.state['projectId'] = project?.publicId;
    if (project) insideId(ctx, endpoint, project);
    if (project && endpoint.method !== 'GET' && !endpoint.whileDisabled) refuseDisabled(project);
    const lacking = endpoint.unavailable?.(services.config);
    if (lacking) throw new Problem(lacking);
    await countRequest(ctx, endpoint, caller, project, services);
    const body = upload
      ? await readUpload(ctx, upload)
      : takesBody && !endpoint.asSent
        ? await readJson(ctx)
        : undefined;
    const bytes = endpoint.asSent ? await readBytes(ctx) : Buffer.alloc(0);

    const ownerId = idempotencyOwner(endpoint, caller);
    const key = ctx.get('idempotency-key');
    const run = () => runHandler(ctx, endpoint, caller, { body, bytes }, services);
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
 * request is worth trying again. What has done part of the work, as our own failure may have, is
 * kept as the answer.
 */
async function settleRefusal(use: FirstUse, error: unknown, requestId: string): Promise<void> {
  const problem = asProblem(error);
  const isFree = problem.status < 500 || problem.status === 503;
  if (isFree && !problem.isPartial) return use.release();
  const text = JSON.stringify(errorBody(problem, requestId));
  return use.complete({ status: problem.status, text });
}

async function runHandler(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  { body, bytes }: { body: unknown; bytes: Buffer },
  services: Services,
): Promise<StoredAnswer> {
  const given = { params: ctx['params'] as unknown, query: { ...ctx.query }, body };
  const parts = endpoint.asSent ? given : checkRequest(endpoint, given);
  const result = await endpoint.handle({
    ...services,
    ...parts,
    caller,
    request: {
      id: ctx.state['requestId'] as string,
      method: ctx.method,
      ip: ctx.ip,
      header: (name) => ctx.get(name),
      cookie: (name) => ctx.cookies.get(name),
      bytes,
    },
    findSessionUser: () => findSessionUser(ctx, services),
    count: (scope, counted) => services.rateLimits.count(ctx, scope, counted),
  });
  const { data: answered, options } = result instanceof Answer ? result : new Answer(result, {});
  const status = options.status ?? endpoint.status ?? 200;
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // What the answer depends on adds up: who asks from another origin depends on it, too.
    if (name === 'Vary') ctx.vary(value);
    else ctx.set(name, value);
  }
  const contentType = options.contentType ?? endpoint.contentType;
  if (contentType) ctx.type = contentType;
  if (answered instanceof Buffer) return { status, text: '', bytes: answered };
  if (contentType) return { status, text: String(answered) };
  const data: unknown = endpoint.response.parse(answered);
  const shown = endpoint.wrapped ? { success: true, data } : data;
  return { status, text: status === 204 ? '' : outsideIds(JSON.stringify(shown), caller) };
}

/** What the path calls by the id it has outside, handlers call by the id of its rows. */
function insideId(ctx: Context, { projectParam }: AnyEndpoint, { id, publicId }: Project): void {
  const params = ctx['params'] as Record<string, string>;
  if (projectParam && params[projectParam]?.toLowerCase() === publicId) params[projectParam] = id;
}

/** A project that was reset keeps its id outside, while its rows have another one. */
function outsideIds(text: string, caller: Caller): string {
  const projects = caller?.kind === 'project' ? [caller.project] : (caller?.projects ?? []);
  return projects.reduce(
    (shown, { id, publicId }) =>
      id === publicId ? shown : shown.replaceAll(`"${id}"`, `"${publicId}"`),
    text,
  );
}

function send(ctx: Context, { status, text, bytes }: StoredAnswer): void {
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
  ctx.body = bytes ?? text;
}

function refuseUnreadableBody(ctx: Context, { asSent }: AnyEndpoint): void {
  const length = ctx.request.length ?? 0;
  if (length > limits.jsonBodyBytes) throw new Problem('PAYLOAD_TOO_LARGE');
  const hasBody = length > 0 || ctx.get('transfer-encoding') !== '';
  if (hasBody && !asSent && !ctx.request.is('application/json'))
    throw new Problem('UNSUPPORTED_MEDIA_TYPE');
}

const parseJson = koaBody({
  json: true,
  jsonStrict: false,
  jsonLimit: limits.jsonBodyBytes,
  includeUnparsed: true,
  text: false,
  urlencoded: false,
  multipart: false,
  parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
});

async function readJson(ctx: Context): Promise<unknown> {
  try {
    await parseJson(ctx, async () => {});
  } catch (error) {
    const { status, message } = error as { status?: number; message?: string };
    if (status === 413) throw new Problem('PAYLOAD_TOO_LARGE');
    const why = message?.includes('forbidden prototype')
      ? { message: 'The request body holds a key named __proto__, which is not taken.' }
      : error instanceof SyntaxError
        ? { message: 'The request body is not valid JSON.' }
        : {};
    throw new Problem('INVALID_REQUEST_BODY', why);
  }
  refuseUnstorable(ctx.request.body, ctx.request.rawBody ?? '');
  // Without a body the parser answers nothing or ''; a body may itself be the text "".
  const body: unknown = ctx.request.body;
  return body === undefined || (body === '' && !ctx.request.length) ? {} : body;
}

/** Refuses JSON that could not be kept as it was sent. */
function refuseUnstorable(body: unknown, json: string): void {
  if (isNestedDeeper(body, limits.jsonDepth)) {
    const message = `Objects and lists nest at most ${limits.jsonDepth} deep.`;
    throw invalidField('', 'too_big', message);
  }
  const lossy = findLossyNumber(json);
  if (!lossy) return;
  const message = 'Has more digits than a number keeps: send it as text.';
  throw invalidField(lossy.path.join('.'), 'too_big', message);
}

async function readBytes(ctx: Context): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.jsonBodyBytes) throw new Problem('PAYLOAD_TOO_LARGE');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The project that the path names, if the user is a member; strangers are refused later. */
async function namedProject(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  { db }: Services,
): Promise<Project | null> {
  if (caller?.kind !== 'user' || !endpoint.projectParam) return null;
  const named = (ctx['params'] as Record<string, string>)[endpoint.projectParam]?.toLowerCase();
  const membership = isUuid(named) ? await findMembership(db, named, caller.userId) : undefined;
  if (!membership) return null;
  requireVerified(caller);
  return membership.project;
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
  project: Project | null,
  { rateLimits }: Services,
): Promise<void> {
  if (endpoint.limit === 'none') return;
  // A stranger must not use up another project's window by naming it.
  if (project) return rateLimits.count(ctx, 'project', project.id);
  if (caller?.kind === 'user') return rateLimits.count(ctx, 'user', caller.userId);
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
