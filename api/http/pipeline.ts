import type { Context, Middleware } from 'koa';
import { scopeOf } from '../../domain/access/scopes.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Database } from '../../db/database.ts';
import {
  fieldsOf,
  findCaller,
  findMember,
  refuseDisabled,
  requireFresh,
  requireRights,
  writes,
} from '../access/auth.ts';
import type { Caller, Project, ProjectCaller } from '../access/caller.ts';
import { requireScope } from '../access/keys.ts';
import { anonymous, readBytes, readJson, refuseUnreadableBody, takesBody } from './bodies/body.ts';
import type { AnyEndpoint } from './endpoint.ts';
import type { Services } from '../services/services.ts';
import { noteUnknown, partsOf, type Prepared } from './handling.ts';
import { networkOf } from '../services/rate-limit.ts';
import { runOnce } from './repeats.ts';
import { send } from './response.ts';
import { readUpload } from './bodies/upload.ts';
import { refuse, unknownKeys } from './validation.ts';

/**
 * Handles a request in steps, in the order of precedence of their errors: body size, content type,
 * credentials, disabled project, feature off, rate limit, scope and role, JSON syntax, rights that
 * depend on the body, idempotency, schema, the handler. A stored response is repeated only to
 * callers who may make the request now.
 */
export function pipeline(endpoint: AnyEndpoint, services: Services): Middleware {
  const scope = scopeOf(endpoint);
  return async (ctx) => {
    ctx.state['endpoint'] = endpoint;
    refuseUnreadableBody(ctx, endpoint);
    const caller = await identify(ctx, endpoint, services);
    ctx.state['userId'] = caller?.userId ?? undefined;
    const member = await memberOf(ctx, endpoint, caller, services.db);
    const inProject = caller?.kind === 'project' ? caller : member;
    const project = inProject?.project ?? null;
    ctx.state['projectId'] = project?.publicId;
    ctx.state['member'] = inProject;
    if (project) insideId(ctx, endpoint, project);
    if (project && writes(endpoint)) refuseDisabled(project);
    const lacking = endpoint.unavailable?.(services.config);
    if (lacking) throw new Problem(lacking);
    await countRequest(ctx, endpoint, caller, project, services);
    // A path with another project returns 404 for any scopes, so scopes are checked only for
    // members.
    if (member || !endpoint.projectParam) requireScope(caller, scope);
    if (caller && member) requireRights(endpoint, caller, member);
    else if (endpoint.access === 'session' && endpoint.fresh && caller) requireFresh(caller);
    const { body, bytes, release } = await receive(ctx, endpoint, bodyOwner(caller, project));
    try {
      endpoint.refuseFirst?.({ config: services.config, caller, body: fieldsOf(body) });
      const unknown = unknownKeys(endpoint, { query: ctx.query, body });
      const refused = noteUnknown(ctx, unknown) ? unknown : [];
      // Slow database requests of a project delay only other requests of this project.
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
  /**
   * The body unchanged, for an endpoint with `asSent`; otherwise empty, so that the body is in
   * memory only once.
   */
  bytes: Buffer;
  /** Frees the memory of the body. */
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
 * Returns the owner of a body's memory. Anyone may have a public key, so requests with a public key
 * do not use the project's memory.
 */
function bodyOwner(caller: Caller, project: Project | null): string {
  if (caller?.kind === 'project' && caller.isPublic) return `public ${caller.projectId}`;
  return project?.id ?? caller?.userId ?? anonymous;
}

type Params = Record<string, string>;

/**
 * Returns the caller in the project of the request, with the required rights. The rights are
 * checked again after the body has arrived, because some rights depend on the body. In the
 * meantime, the project or the membership may also have been deleted.
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
  if (member) ctx.state['member'] = member;
  const named = namedProject(ctx, endpoint, body);
  if (caller && member) requireRights(endpoint, caller, member, body);
  else if (named !== undefined) {
    refuse(partsOf(ctx, endpoint, prepared).errors);
    throw notFound('PROJECT', named);
  }
  return member;
}

/** Replaces the public project id in the path by the id of the project's row. */
function insideId(ctx: Context, { projectParam }: AnyEndpoint, { id, publicId }: Project): void {
  const params = ctx['params'] as Params;
  if (projectParam && params[projectParam]?.toLowerCase() === publicId) params[projectParam] = id;
}

/**
 * Returns the caller in the project of the request: the project of the key or header, of the path
 * or body, or of the record in the path.
 */
async function memberOf(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  db: Database,
  body?: unknown,
): Promise<ProjectCaller | null> {
  const { id = '' } = ctx['params'] as Params;
  const named = endpoint.projectOf
    ? isUuid(id) && (await endpoint.projectOf(db, id))
    : namedProject(ctx, endpoint, body);
  if (named === undefined) return caller?.kind === 'project' ? caller : null;
  return caller && named && isUuid(named) ? findMember(db, caller, named) : null;
}

/** Returns the project in the path or the body, which is not validated yet. */
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

/** Returns the caller. Failed credentials count against the client's IP address. */
async function identify(ctx: Context, endpoint: AnyEndpoint, services: Services): Promise<Caller> {
  try {
    return await findCaller(ctx, endpoint.access, services);
  } catch (error) {
    const isRefused = error instanceof Problem && refusesCredentials(error);
    if (isRefused) {
      await services.rateLimits.count(ctx, 'ip', networkOf(ctx.ip));
    }
    throw error;
  }
}

/** Returns true if the credentials are invalid, or the key is used outside its networks. */
function refusesCredentials({ status, code }: Problem): boolean {
  return status === 401 || code === 'KEY_RESTRICTED';
}

async function countRequest(
  ctx: Context,
  endpoint: AnyEndpoint,
  caller: Caller,
  project: Project | null,
  { rateLimits }: Services,
): Promise<void> {
  if (endpoint.limit === 'none') return;
  // Only members reach this line, so a non-member cannot use up another project's limit.
  if (project) return rateLimits.count(ctx, 'project', project.id);
  if (caller?.kind === 'user') return rateLimits.count(ctx, 'user', caller.userId);
  return endpoint.limit === 'auth'
    ? rateLimits.count(ctx, 'auth', `${endpoint.id} ${networkOf(ctx.ip)}`)
    : rateLimits.count(ctx, 'ip', networkOf(ctx.ip));
}
