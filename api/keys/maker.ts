import {
  type ApiKeyRow,
  findApiKey,
  isMadeBy,
  isSecretKey,
  lockKeys,
} from '../../db/projects/api-keys.ts';
import type { Database } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { excessOf, type KeyRights } from '../../domain/access/key-rules.ts';
import { found, notFound } from '../../domain/errors.ts';
import type { ProjectCaller } from '../access/caller.ts';
import {
  endedKey,
  hashKey,
  isNetworkWithin,
  lackingScope,
  readBearer,
  restricted,
  unknownKey,
} from '../access/keys.ts';
import type { Call } from '../http/endpoint.ts';

/**
 * Limits for keys that create or change named keys: a key cannot give another key more rights than
 * its own.
 */

type Request = Pick<Call<'secret', unknown, unknown, unknown>['request'], 'header'>;

/**
 * Locks the named keys of the project, and checks under the lock that the calling key is still
 * valid. So a key that is being revoked cannot create another key.
 * @returns the row of the calling named key; null: any other caller, which has all rights
 * @throws Problem INVALID_API_KEY, PROJECT_NOT_FOUND.
 */
export async function lockMaker(
  tx: Database,
  { projectId, userId, key }: ProjectCaller,
  request: Request,
): Promise<ApiKeyRow | null> {
  await holdProject(tx, projectId);
  await lockKeys(tx, projectId);
  if (userId !== null) return null;
  if (key === null) {
    const hash = hashKey(readBearer(request.header('authorization')));
    if (!(await isSecretKey(tx, projectId, hash))) throw unknownKey();
    return null;
  }
  const row = found('API_KEY', key.id, await findApiKey(tx, projectId, key.id));
  if (row.revoked_at !== null) throw endedKey('revoked');
  if (isExpired(row)) throw endedKey('expired');
  return row;
}

export function isExpired({ expires_at: at }: Pick<ApiKeyRow, 'expires_at'>): boolean {
  return at !== null && at.getTime() <= Date.now();
}

/** Returns the rights of a key. */
export function rightsOf({ scopes, domains, cidrs, events, expires_at }: ApiKeyRow): KeyRights {
  return { scopes, domains, cidrs, events, expiresAt: expires_at };
}

/**
 * Refuses a key that would have more rights than the key that creates it.
 * @throws Problem INSUFFICIENT_SCOPE, KEY_RESTRICTED
 */
export function refuseExcess(rights: KeyRights, maker: ApiKeyRow | null): void {
  const excess = maker && excessOf(rights, rightsOf(maker), isNetworkWithin);
  if (!excess) return;
  throw 'scope' in excess
    ? lackingScope(excess.scope, maker.scopes)
    : restricted(excess.restriction);
}

/**
 * Returns a key that is not revoked and that the caller may change.
 * @throws Problem API_KEY_NOT_FOUND; KEY_RESTRICTED when the caller is a key that has not created
 * the key to change.
 */
export async function changeableKey(
  tx: Database,
  projectId: string,
  id: string,
  maker: ApiKeyRow | null,
): Promise<ApiKeyRow> {
  const row = found('API_KEY', id, await findApiKey(tx, projectId, id));
  if (row.revoked_at !== null) throw notFound('API_KEY', id);
  if (maker && !(await isMadeBy(tx, projectId, { id, makerId: maker.id }))) {
    throw restricted('maker');
  }
  return row;
}
