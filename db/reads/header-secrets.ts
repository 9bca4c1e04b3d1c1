import type { Database } from '../database.ts';
import { findSecrets } from '../projects/secrets.ts';
import type { Target } from '../subscriptions/sending.ts';

/** Returns the secrets that a subscription's headers refer to, encrypted. */
export async function listHeaderSecrets(db: Database, { projectId, secretNames }: Target) {
  return secretNames.length === 0 ? [] : findSecrets(db, projectId, secretNames);
}
