import { setTimeout as sleep } from 'node:timers/promises';
import type { Context, Middleware } from 'koa';
import { notFound, Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { limits } from '../../domain/limits.ts';
import type { Database } from '../../db/database.ts';
import {
  fieldsOf,
  findCaller,
  findMember,
  findSessionUser,
  refuseDisabled,
  requireRights,
  writes,
} from '../access/auth.ts';
import type { Caller, Project, ProjectCaller } from '../access/caller.ts';
import { anonymous, readBytes, readJson, refuseUnreadableBody, takesBody } from './bodies/body.ts';
import { type AnyEndpoint, Answer } from './endpoint.ts';
import type { Services } from '../services/services.ts';
import { asProblem, errorBody } from './envelope.ts';
import {
  honoursKey,
  type KeySpace,
  type KeyUse,
  type StoredAnswer,
  useIdempotencyKey,
} from './idempotency.ts';
import { networkOf } from '../services/rate-limit.ts';
import { joined, jsonAnswer, send, streamed } from './response.ts';
import { SecurityLog } from '../access/security-log.ts';
import { clientOf } from '../access/session.ts';
import { readUpload } from './bodies/upload.ts';
import {
  checkRequest,
  ignoredHeader,
  isStrict,
  type ReadRequest,
  readRequest,
  refuse,
  refuseAll,
  type RequestParts,
  type UnknownKey,
  unknownIn,
  unknownKeys,
} from './validation.ts';

/**
 * The steps of every request, in the order of precedence of their errors: body size, content type,
 * credentials, disabled project, feature off, rate limit, rights, JSON syntax, rights that depend
 * on the body, idempotency, schema, the handler. A stored response is repeated only to callers who
 * may make the request now.
 */
export function pipeline(endpoint: AnyEndpoint, services: Services): Middleware {
  return async (ctx) => {
    ctx.state['endpoint'] = endpoint;
    refuseUnreadableBody(ctx, endpoint);
    const caller = await identify(ctx, endpoint, services);
    ctx.state['userId'] = caller?.userId ?? undefined;
    const member = await memberOf(ctx, endpoint, caller, services.db);
    const project = (caller?.kind === 'project' ? caller : member)?.project ?? null;
    ctx.state['projectId'] = project?.publicId;
    if (project) insideId(ctx, endpoint, project);
    if (project && writes(endpoint)) refuseDisabled(project);
    const lacking = endpoint.unavailable?.(services.config);
    if (lacking) throw new Problem(lacking);
    await countRequest(ctx, endpoint, caller, project, services);
    if (caller && member) requireRights(endpoint, caller, member);
    const { body, bytes, release } = await receive(ctx, endpoint, bodyOwner(caller, project));
    try {
      const unknown = unknownKeys(endpoint, { query: ctx.query, body });
      const refused = noteUnknown(ctx, unknown) ? unknown : [];
      // A project whose requests are slow in the database delays only its own.
      const owner = project?.id ?? caller?.userId ?? endpoint.id;
      await services.shares.within(owner, async (db) => {
        const known = { caller, member, body, bytes, db, refused };
        const prepared = { ...known, member: await memberNow(ctx, endpoint, known) };
        send(ctx, await runOnce(ctx, endpoint, prepared, services));
      });
    } finally {
      release();
    }
  };
}

interface Received {
  /** The parsed JSON, or the fields of a form. */
  body: unknown;
  /** The body as sent, if the endpoint takes it so; a parsed body is not kept twice. */
  bytes: Buffer;
  /** Frees its memory. */
  release: () => void;
}

const noBytes = Buffer.alloc(0);

/** Reads and parses the body. @throws Problem, see `readBytes`, `readJson` and `readUpload`. */
async function receive(ctx: Context, endpoint: AnyEndpoint, owner: string): Promise<Received> {
  if (!takesBody(endpoint)) return { body: undefined, bytes: noBytes, release: () => {} };
  const { bytes, release } = await readBytes(ctx, endpoint, owner);
  if (endpoint.asSent) return { body: undefined, bytes, release };
  try {
    const { upload } = endpoint;
    const body = upload
      ? await readUpload(bytes, ctx.get('content-type'), upload)
      : readJson(bytes);
    return { body, bytes: noBytes, release };
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Returns the owner of a body's memory. Anyone may have a public key, so its holders do not use the
 * project's memory.
 */
function bodyOwner(caller: Caller, project: Project | null): string {
  if (caller?.kind === 'project' && caller.isPublic) return `public ${caller.projectId}`;
  return project?.id ?? caller?.userId ?? anonymous;
}

/** Names unknown keys in the response if they are ignored. Returns true if they must be refused. */
function noteUnknown(ctx: Context, unknown: readonly UnknownKey[]): boolean {
  if (isStrict(ctx.get('prefer'))) {
    ctx.set('Preference-Applied', 'handling=strict');
    return true;
  }
  const before = ctx.res.getHeader('Everpost-Ignored');
  const ignored = ignoredHeader(typeof before === 'string' ? before : '', unknown);
  if (ignored !== '') ctx.set('Everpost-Ignored', ignored);
  return false;
}

/** Milliseconds between renewals of a running request's key: five before it is stale. */
const keyRenewalMs = limits.idempotencyStaleMs / 5;

/** Runs the handler, or repeats the stored response for the request's key. */
async function runOnce(
  ctx: Context,
  endpoint: AnyEndpoint,
  prepared: Prepared,
  services: Services,
): Promise<StoredAnswer> {
  const space = keySpace(endpoint, prepared);
  const key = ctx.get('idempotency-key');
  // An empty header is a key that is too short, not a missing key.
  if (space === null || ctx.headers['idempotency-key'] === undefined) {
    return runHandler(ctx, endpoint, prepared, null, services);
  }
  const settle = (work: () => Promise<void>, over = () => {}) =>
    settleKey(work, over, services.log);
  const use = await useIdempotencyKey(
    {
      db: prepared.db,
      settleDb: services.db,
      settle,
      cipher: services.cipher,
      ttlHours: services.config.idempotencyTtlHours,
    },
    { space, key, method: endpoint.method, path: ctx.path, body: prepared.body },
  );
  if ('replay' in use) {
    ctx.set('Idempotency-Replayed', 'true');
    return use.replay;
  }
  const { first } = use;
  const renewal = setInterval(() => void first.renew().catch(() => {}), keyRenewalMs);
  const over = () => clearInterval(renewal);
  const answered = await runHandler(ctx, endpoint, prepared, first, services).catch(
    async (error: unknown) => {
      await settle(() => settleRefusal(first, error, ctx.state['requestId'] as string), over);
      throw error;
    },
  );
  await settle(() => first.complete(answered), over);
  return answered;
}

/** Pause between two attempts to settle a key, in milliseconds. */
const settleEveryMs = 1_000;
/**
 * The last attempt begins so many milliseconds before the key may be stale: longer than a statement
 * may take.
 */
const settleMarginMs = 60_000;

/**
 * Settles a key, then calls `over`. If the database is unavailable, it tries again after the client
 * has its response, until shortly before the key is stale. So a repeat neither finds the key taken
 * nor does the work again. Never throws.
 */
async function settleKey(
  settle: () => Promise<void>,
  over: () => void,
  log: Services['log'],
): Promise<void> {
  const attempt = () =>
    settle().then(
      () => null,
      (error: unknown) => ({ error }),
    );
  const failed = await attempt();
  if (!failed) return over();
  log.warn(failed, 'An idempotency key could not be settled; it is tried again');
  void (async () => {
    // Before others may take it over.
    const end = Date.now() + limits.idempotencyStaleMs - settleMarginMs;
    do await sleep(settleEveryMs, null, { ref: false });
    while ((await attempt()) && Date.now() < end);
    over();
  })();
}

/**
 * Settles the key of a failed request. A client error frees it, and so does an unavailable service,
 * because a retry may succeed. If mail was accepted, the retry continues after it. Any other
 * internal error is stored as the response, because part of the work may be done.
 */
async function settleRefusal(use: KeyUse, error: unknown, requestId: string): Promise<void> {
  const problem = asProblem(error);
  const isFree = problem.status < 500 || problem.status === 503;
  if (isFree || (await use.hasAccepted())) return use.release();
  const text = JSON.stringify(errorBody(problem, requestId));
  return use.complete({ status: problem.status, text });
}

type Params = Record<string, string>;

/** A handler's input before path, query and body are validated. */
interface Prepared {
  caller: Caller;
  member: ProjectCaller | null;
  body: unknown;
  bytes: Buffer;
  /** Unknown keys that the request wants to be refused. */
  refused: readonly UnknownKey[];
  /** The database handle with the share of the request's project. */
  db: Database;
}

interface Handled extends Prepared {
  keyUse: KeyUse | null;
  security: SecurityLog;
}

type AnyCall = Parameters<AnyEndpoint['handle']>[0];

async function runHandler(
  ctx: Context,
  endpoint: AnyEndpoint,
  prepared: Prepared,
  keyUse: KeyUse | null,
  services: Services,
): Promise<StoredAnswer> {
  const { caller, db } = prepared;
  const read = partsOf(ctx, endpoint, prepared);
  const { parts, wrong } = read;
  const security = new SecurityLog({ db, log: services.log }, ctx, caller);
  const call = createCall(ctx, endpoint, { ...prepared, keyUse, security }, parts, services);
  const isUnreadable = wrong.has('body') && parts.body === undefined;
  const canCheck = !isUnreadable && !wrong.has('params') && !wrong.has('query');
  await refuseAll(read, {
    check: () => (canCheck ? endpoint.check?.(call) : undefined),
    beside: (names) => (canCheck ? endpoint.checkBeside?.(call, names) : undefined),
  });
  const result = await endpoint.handle(call).catch(async (error: unknown) => {
    throw await firstRefusal(endpoint, call, error);
  });
  security.flush();
  const { data: answered, options } = result instanceof Answer ? result : new Answer(result, {});
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // `Vary` is extended, not replaced, because CORS has set it, too.
    if (name === 'Vary') ctx.vary(value);
    else ctx.set(name, value);
  }
  const contentType = options.contentType ?? endpoint.contentType;
  if (contentType) ctx.type = contentType;
  const status = options.status ?? endpoint.status ?? 200;
  if (options.text) {
    return { status, text: '', stream: await streamed(options.text, options.signal) };
  }
  if (options.parts) {
    const whole = jsonAnswer(endpoint, answered, status);
    const present = (part: unknown) => jsonAnswer(endpoint, part, status).text;
    return { ...whole, stream: joined(whole.text, options.parts, present) };
  }
  if (answered instanceof Buffer) return { status, text: '', bytes: answered };
  if (contentType) return { status, text: String(answered) };
  return jsonAnswer(endpoint, answered, status);
}

/** Statuses that come after those for invalid fields: for missing objects, and for their state. */
const laterStatuses: readonly number[] = [400, 402, 403, 404, 409];

/**
 * Returns the error for the response: the invalid fields that `checkBeside` finds, otherwise the
 * error of the handler. An error that lists accepted mail is never replaced.
 */
async function firstRefusal(
  endpoint: AnyEndpoint,
  call: AnyCall,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof Problem) || !laterStatuses.includes(error.status)) return error;
  const accepted = error.details?.['emails'];
  if (Array.isArray(accepted) && accepted.length > 0) return error;
  try {
    await endpoint.checkBeside?.(call, new Set());
    return error;
  } catch (earlier) {
    return earlier instanceof Problem && earlier.code === 'VALIDATION_ERROR' ? earlier : error;
  }
}

/** Returns path, query and body for the handler, with their errors. */
function partsOf(ctx: Context, endpoint: AnyEndpoint, { body, refused }: Prepared): ReadRequest {
  const given = { params: ctx['params'] as unknown, query: { ...ctx.query }, body };
  if (endpoint.asSent) return { parts: given, errors: [], wrong: new Set(), cut: [] };
  return readRequest(endpoint, given, refused);
}

/**
 * Returns the caller in the project that the request names, with the required rights. It is checked
 * again after the body has arrived: meanwhile the project or the membership may have been deleted,
 * and some rights depend on the body.
 * @throws Problem PROJECT_NOT_FOUND for non-members, and errors of `requireRights`.
 */
async function memberNow(
  ctx: Context,
  endpoint: AnyEndpoint,
  prepared: Prepared,
): Promise<ProjectCaller | null> {
  const { caller, db, body } = prepared;
  const member = takesBody(endpoint)
    ? await memberOf(ctx, endpoint, caller, db, body)
    : prepared.member;
  const named = namedProject(ctx, endpoint, body);
  if (caller && member) requireRights(endpoint, caller, member, body);
  else if (named !== undefined) {
    refuse(partsOf(ctx, endpoint, prepared).errors);
    throw notFound('PROJECT', named);
  }
  return member;
}

const noParts: RequestParts = { params: undefined, query: undefined, body: undefined };

/** A handler's input. */
function createCall(
  ctx: Context,
  endpoint: AnyEndpoint,
  { caller, member, bytes, db, keyUse, security }: Handled,
  { params, query, body }: RequestParts,
  services: Services,
): AnyCall {
  // Methods instead of arrow functions, to which esbuild (`keepNames`) would assign a name on each
  // call.
  const own: Omit<AnyCall, Exclude<keyof Services, 'db'>> = {
    db,
    params,
    query,
    body,
    caller,
    member,
    refuseUnknown(schema, value) {
      const unknown = unknownIn(schema, value);
      if (noteUnknown(ctx, unknown)) checkRequest({}, noParts, unknown);
    },
    async authorize(projectId) {
      const within = caller && (await findMember(db, caller, projectId));
      if (!within) throw notFound('PROJECT', projectId);
      requireRights(endpoint, caller, within);
      return within;
    },
    request: {
      id: ctx.state['requestId'] as string,
      method: ctx.method,
      ip: ctx.ip,
      client: clientOf(ctx),
      header(name) {
        return ctx.get(name);
      },
      cookie(name) {
        return ctx.cookies.get(name);
      },
      bytes,
    },
    keyUse: keyUse && {
      accepted: keyUse.accepted,
      emailId: keyUse.emailId,
      recordAccepted: (tx, email) => keyUse.recordAccepted(tx, email),
      completeIn: (tx, data, status) => keyUse.completeIn(tx, jsonAnswer(endpoint, data, status)),
    },
    findSessionUser() {
      return findSessionUser(ctx, call);
    },
    count(limit, counted) {
      return services.rateLimits.count(ctx, limit, counted);
    },
    note(event, tx) {
      return security.note(event, tx);
    },
    noteRefusal(event) {
      security.noteRefusal(event);
    },
  };
  // Inherited, because copying the services of the process would cost more than the rest of a small
  // request.
  const call = Object.setPrototypeOf(own, services) as AnyCall;
  return call;
}

/** Replaces the public project id in the path by the id of its rows. */
function insideId(ctx: Context, { projectParam }: AnyEndpoint, { id, publicId }: Project): void {
  const params = ctx['params'] as Params;
  if (projectParam && params[projectParam]?.toLowerCase() === publicId) params[projectParam] = id;
}

/**
 * Returns the caller in the project of the key or header, or in the one that the path or body
 * names.
 */
async function memberOf(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  db: Database,
  body?: unknown,
): Promise<ProjectCaller | null> {
  const named = namedProject(ctx, endpoint, body);
  if (named === undefined) return caller?.kind === 'project' ? caller : null;
  return caller && isUuid(named) ? findMember(db, caller, named) : null;
}

/** Returns the project that the path or the body names. No schema has checked it. */
function namedProject(
  ctx: Context,
  { projectParam, projectField }: AnyEndpoint,
  body: unknown,
): string | undefined {
  const named = projectParam
    ? (ctx['params'] as Params)[projectParam]
    : projectField && fieldsOf(body)[projectField];
  return typeof named === 'string' ? named.toLowerCase() : undefined;
}

/** Identifies the caller. Failed credentials count against the client's IP address. */
async function identify(ctx: Context, endpoint: AnyEndpoint, services: Services): Promise<Caller> {
  try {
    return await findCaller(ctx, endpoint.access, services);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      await services.rateLimits.count(ctx, 'ip', networkOf(ctx.ip));
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
  // A non-member must not use up another project's limit by naming that project.
  if (project) return rateLimits.count(ctx, 'project', project.id);
  if (caller?.kind === 'user') return rateLimits.count(ctx, 'user', caller.userId);
  return endpoint.limit === 'auth'
    ? rateLimits.count(ctx, 'auth', `${endpoint.id} ${networkOf(ctx.ip)}`)
    : rateLimits.count(ctx, 'ip', networkOf(ctx.ip));
}

/** Returns the owner of the keys that a request uses, or null if the header is ignored. */
function keySpace(endpoint: AnyEndpoint, { caller, member }: Prepared): KeySpace | null {
  if (caller === null || !honoursKey(endpoint)) return null;
  if (caller.kind === 'project') return { ownerId: caller.projectId, isPublic: caller.isPublic };
  return { ownerId: member?.projectId ?? caller.userId, isPublic: false };
}
