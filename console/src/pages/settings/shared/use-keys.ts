import type { ApiKey } from '../../../api/api.ts';
import { useLive } from '../../../api/queries.ts';
import { useProject } from '../../../shell/project.ts';

/** Reads the named keys of the project, newest first: either the valid keys or the revoked keys. */
export function useKeys({ revoked = false, isLive = false } = {}) {
  const { api, project } = useProject();
  return useLive({
    key: [project.id, 'keys', { revoked }],
    read: () => api.get('/api-keys', { query: { revoked: revoked ? 'true' : 'false' } }),
    isLive,
  });
}

/**
 * Returns the keys that a key has created, directly or through other keys. All these keys end when
 * the given key ends.
 */
export function madeBy(id: string, keys: readonly ApiKey[]): readonly ApiKey[] {
  const own = keys.filter(({ createdBy }) => createdBy?.type === 'key' && createdBy.id === id);
  return own.flatMap((key) => [key, ...madeBy(key.id, keys)]);
}
