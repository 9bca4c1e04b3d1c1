import { readConsentPolicy } from '../../db/consent/policy.ts';
import type { Database } from '../../db/database.ts';
import type { FileObject } from '../../db/files/objects.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import { policyKeys } from '../../domain/files/kinds.ts';

const readers = { 'send-policy': readSendPolicy, 'consent-policy': readConsentPolicy } as const;

/** Lists the policies that a project has set. */
export async function listPolicies(db: Database, projectId: string): Promise<FileObject[]> {
  const policies: FileObject[] = [];
  for (const kind of ['send-policy', 'consent-policy'] as const) {
    const { updatedAt } = await readers[kind](db, projectId);
    const key = policyKeys[kind];
    if (updatedAt !== null) policies.push({ kind, key, id: null, name: key });
  }
  return policies;
}
