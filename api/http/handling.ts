import type { Context } from 'koa';
import { notFound, Problem } from '../../domain/errors.ts';
import type { Database } from '../../db/database.ts';
import { findMember, findSessionUser, requireRights } from '../access/auth.ts';
import type { Caller, ProjectCaller } from '../access/caller.ts';
import { type AnyEndpoint, Answer } from './endpoint.ts';
import type { Services } from '../services/services.ts';
import type { KeyUse, StoredAnswer } from './idempotency.ts';
import { joined, jsonAnswer, streamed } from './response.ts';
import { SecurityLog } from '../access/security-log.ts';
import { clientOf } from '../access/session.ts';
import {
  checkRequest,
  ignoredHeader,
  isStrict,
  type ReadRequest,
  readRequest,
  refuseAll,
  type RequestParts,
  type UnknownKey,
  unknownIn,
} from './validation.ts';

/** The input of a handler before path, query and body are validated. */
export interface Prepared {
  caller: Caller;
  member: ProjectCaller | null;
  body: unknown;
  bytes: Buffer;
  /** The unknown keys to refuse; empty unless the request has `Prefer: handling=strict`. */
  refused: readonly UnknownKey[];
  /** A database handle with the connections that the project may use at once. */
  db: Database;
}

interface Handled extends Prepared {
  keyUse: KeyUse | null;
  security: SecurityLog;
}

type AnyCall = Parameters<AnyEndpoint['handle']>[0];

/**
 * Checks a request, runs its handler, and returns the response. Errors about invalid fields take
 * precedence over other errors of the handler.
 * @throws Problem
 */
export async function runHandler(
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
    // `Vary` is extended, not replaced, because the CORS middleware has also set it.
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

/**
 * Statuses of errors about a missing object or the state of an object. A handler's error with such
 * a status is reported only if all fields are valid.
 */
const laterStatuses: readonly number[] = [400, 402, 403, 404, 409, 412];

/**
 * Returns the error for the response: invalid fields that `checkBeside` finds; otherwise the error
 * of the handler. An error that lists accepted mail is never replaced.
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
export function partsOf(
  ctx: Context,
  endpoint: AnyEndpoint,
  { body, refused }: Prepared,
): ReadRequest {
  const given = { params: ctx['params'] as unknown, query: { ...ctx.query }, body };
  if (endpoint.asSent) return { parts: given, errors: [], wrong: new Set(), cut: [] };
  return readRequest(endpoint, given, refused);
}

const noParts: RequestParts = { params: undefined, query: undefined, body: undefined };

function createCall(
  ctx: Context,
  endpoint: AnyEndpoint,
  { caller, member, bytes, db, keyUse, security }: Handled,
  { params, query, body }: RequestParts,
  services: Services,
): AnyCall {
  // Methods instead of arrow functions, because esbuild (`keepNames`) would assign a name to each
  // arrow function on each call.
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
      ctx.state['member'] = within;
      requireRights(endpoint, caller, within);
      return within;
    },
    request: {
      id: ctx.state['requestId'] as string,
      method: ctx.method,
      ip: ctx.ip,
      client: clientOf(ctx),
      ifMatch: ctx.req.headers['if-match'],
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
  // The call inherits from the services, because copying the services would take longer than the
  // rest of a small request.
  const call = Object.setPrototypeOf(own, services) as AnyCall;
  return call;
}

/** Adds ignored unknown keys to a response header. Returns true if unknown keys must be refused. */
export function noteUnknown(ctx: Context, unknown: readonly UnknownKey[]): boolean {
  if (isStrict(ctx.get('prefer'))) {
    ctx.set('Preference-Applied', 'handling=strict');
    return true;
  }
  const before = ctx.res.getHeader('Everpost-Ignored');
  const ignored = ignoredHeader(typeof before === 'string' ? before : '', unknown);
  if (ignored !== '') ctx.set('Everpost-Ignored', ignored);
  return false;
}
