import type { Context } from 'koa';
import { findSessionUser } from '../../db/accounts/sessions.ts';
import { findMembership } from '../../db/projects/projects.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Services } from '../services/services.ts';
import type { Access } from './caller.ts';
import { hashKey } from './keys.ts';
import { readSession } from './session.ts';

/** The public id of a request's project, and the caller in the form that `actorOf` returns. */
export interface Requester {
  ownerId: string;
  actor: string;
}

/** The parts of an endpoint's declaration that define how requests name their project. */
interface NamesProject {
  access: Access;
  projectParam?: string | undefined;
}

/**
 * Returns who made a refused request: a key of a project (also an expired or revoked key), or a
 * member whose request names the project; null: neither is known. Checks no rights.
 * @param endpoint undefined: the path is unknown
 */
export async function findRequester(
  ctx: Context,
  endpoint: NamesProject | undefined,
  services: Services,
): Promise<Requester | null> {
  const authorization = ctx.get('authorization');
  if (authorization !== '') return keyRequester(authorization, services);
  const projectId = projectOf(ctx, endpoint);
  if (!isUuid(projectId)) return null;
  const { db, config } = services;
  const session = await readSession((name) => ctx.cookies.get(name), config);
  const user = session && (await findSessionUser(db, session));
  const membership = user && (await findMembership(db, projectId, user.id));
  if (!membership) return null;
  return { ownerId: membership.project.publicId, actor: `user:${user.id}` };
}

async function keyRequester(authorization: string, { keys }: Services): Promise<Requester | null> {
  const [, value] = /^bearer +([ps]k_[0-9a-f]{64})$/i.exec(authorization.trim()) ?? [];
  if (!value) return null;
  const isPublic = value.startsWith('pk_');
  const owner = await keys.find({ hash: hashKey(value), ...(isPublic && { publicKey: value }) });
  if (!owner) return null;
  const id = owner.key?.id ?? (isPublic ? 'public' : 'secret');
  return { ownerId: owner.project.publicId, actor: `key:${id}` };
}

/** Returns the project that a request of a session names. */
function projectOf(ctx: Context, endpoint: NamesProject | undefined): string | undefined {
  const { projectParam, access } = endpoint ?? {};
  if (projectParam) return (ctx['params'] as Record<string, string>)[projectParam];
  return access === undefined || access === 'secret' || access === 'either'
    ? ctx.get('x-project-id')
    : undefined;
}
