import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { type Due, nothingDue } from '../events/events.ts';
import { activeStatuses } from '../workflows/executions.ts';

/**
 * Deletes contacts with all that belongs to them (events, mails, memberships, executions), in the
 * caller's transaction. The runs of active executions must still be cancelled although their rows
 * are gone, so a trigger keeps the ids. Returns the ids of those that existed.
 */
export async function deleteContacts(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<{ deleted: string[]; due: Due }> {
  // Locks the contacts first, in order, as everywhere: see `enterStep`.
  const contacts = await tx
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute();
  const deleted = contacts.map((contact) => contact.id);
  if (deleted.length === 0) return { deleted, due: nothingDue };
  const isMeant = sql<boolean>`contact_id = any(${deleted}::uuid[])`;
  const executions = await tx
    .selectFrom('execution')
    .select('id')
    .where(isMeant)
    .where((eb) => eb.or([eb('status', 'in', activeStatuses), eb('dispatch', 'is not', null)]))
    .execute();
  await tx.deleteFrom('contact').where('id', '=', anyOf(deleted)).execute();
  return { deleted, due: { executions: executions.map((execution) => execution.id), waits: [] } };
}
