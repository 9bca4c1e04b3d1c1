import type { Database } from '../../db/database.ts';
import { lockProvider } from '../../db/providers/providers.ts';
import { invalidField } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Services } from '../services/services.ts';

/**
 * Locks a mail provider of the project until the transaction ends, so that it cannot be deleted.
 * @throws Problem VALIDATION_ERROR if the project has no such provider.
 */
export async function holdRampProvider(
  tx: Database,
  { installation }: Services['mailPool'],
  { projectId, providerId }: { projectId: string; providerId: string | null },
): Promise<void> {
  if (providerId === null || installation.some(({ id }) => id === providerId)) return;
  if (isUuid(providerId) && (await lockProvider(tx, projectId, providerId))) return;
  const message = `There is no mail provider ${providerId}. GET /providers lists them.`;
  throw invalidField('providerId', 'not_found', message, providerId);
}
