import type { Database } from '../../db/database.ts';
import { defaultProviderId } from '../../domain/provider/provider.ts';
import { isUuid } from '../../domain/ids.ts';
import { invalidField } from '../../domain/errors.ts';

/** @throws Problem VALIDATION_ERROR if the project has no such mail provider. */
export async function refuseUnknownProvider(
  db: Database,
  projectId: string,
  providerId: string | null,
): Promise<void> {
  if (providerId === null || providerId === defaultProviderId) return;
  if (isUuid(providerId) && (await hasProvider(db, projectId, providerId))) return;
  throw invalidField('providerId', 'not_found', `There is no mail provider ${providerId}.`);
}

async function hasProvider(db: Database, projectId: string, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('mail_provider')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row !== undefined;
}
