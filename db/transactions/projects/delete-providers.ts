import type { Database } from '../../database.ts';
import { deleteCircuits } from '../../delivery/provider-circuit.ts';
import { deleteProviderBuckets } from '../../delivery/send-rate.ts';
import { deleteProviderRows } from '../../providers/providers.ts';
import { circuitName } from '../../../domain/provider/provider.ts';

/**
 * Deletes one mail provider of a project, or all, with their circuits and the tokens of their rate
 * limits.
 */
export async function deleteProviders(tx: Database, projectId: string, id?: string): Promise<void> {
  const ids = await deleteProviderRows(tx, projectId, id);
  if (ids.length === 0) return;
  await deleteCircuits(tx, ids.map(circuitName));
  await deleteProviderBuckets(tx, ids);
}
