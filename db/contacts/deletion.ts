import { executionRunId } from '../../domain/workflow/execution.ts';
import { noteRuns } from '../commits.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { activeStatuses } from '../workflows/executions.ts';

/**
 * Deletes contacts with all that belongs to them (events, mails, memberships, executions), in the
 * caller's transaction. A trigger puts the runs of active executions into the outbox, to be
 * cancelled. Returns the ids of those that existed.
 */
export async function deleteContacts(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<string[]> {
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
  const executions = await tx
    .selectFrom('execution')
    .select('id')
    .where('contact_id', '=', anyOf(deleted))
    .where('status', 'in', activeStatuses)
    .execute();
  await tx.deleteFrom('contact').where('id', '=', anyOf(deleted)).execute();
  const runIds = executions.map(({ id }) => executionRunId(id));
  noteRuns(
    tx,
    runIds.map((runId) => ({ runId, projectId })),
  );
  return deleted;
}
