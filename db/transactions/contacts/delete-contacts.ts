import { sql } from 'kysely';
import { notifyAfterCommit } from '../../commits.ts';
import { signalRunsOf } from '../../consent/opt-ins.ts';
import type { Database } from '../../database.ts';
import { deleteMail } from '../../emails/removal.ts';
import { anyOf } from '../../expressions.ts';
import { deletePage } from '../../pages.ts';
import { keepOptOuts } from '../../suppression/erased.ts';
import { activeStatuses } from '../../workflows/executions/executions.ts';
import { limits } from '../../../domain/limits.ts';
import { executionRunId } from '../../../domain/runs/execution.ts';

/**
 * Maximum number of rows of each kind that are deleted together with their contacts in one
 * transaction.
 */
const historyMax = 5000;

/** Finished rows, which no process works on any more. */
const history = [
  {
    table: 'event',
    // Opt-outs stay, because the deletion of the contact must read them.
    isPast: sql<boolean>`name <> 'contact.unsubscribed' and not exists (select from wait inner_ended
      where inner_ended.contact_id = event.contact_id and inner_ended.event_id = event.id)`,
  },
  {
    table: 'consent',
    // The newest lines stay, because the deletion of the contact may keep them.
    isPast: sql<boolean>`id < (select inner_newest.id from consent inner_newest
      where inner_newest.contact_id = consent.contact_id
      order by inner_newest.id desc offset ${limits.consentLines - 1} limit 1)`,
  },
  { table: 'email', isPast: sql<boolean>`status not in ('PENDING', 'SENDING')` },
  { table: 'digest_event', isPast: sql<boolean>`true` },
  { table: 'execution', isPast: sql<boolean>`status not in ('RUNNING', 'WAITING')` },
  { table: 'not_started', isPast: sql<boolean>`true` },
];

/**
 * Deletes the finished rows of contacts that are about to be deleted, page by page, until one
 * transaction can delete the rest together with the contacts. Most contacts have few rows. One
 * contact may have a million events: deleting these together would take longer than a statement may
 * take.
 */
export async function deleteContactHistory(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<void> {
  for (const { table, isPast } of history) {
    const where = sql<boolean>`contact_id = ${anyOf(ids)} and project_id = ${projectId}
      and ${isPast}`;
    for (;;) {
      const { rows: more } = await sql`
        select from ${sql.table(table)} where ${where} limit 1 offset ${historyMax}`.execute(db);
      if (more.length === 0) break;
      const page = { where, rows: historyMax };
      await (table === 'email' ? deleteMail(db, page) : deletePage(db, { table, ...page }));
    }
  }
}

/**
 * Deletes contacts with all their rows (events, mails, memberships, executions), in the caller's
 * transaction, and keeps their opt-outs. Call `deleteContactHistory` before. A trigger writes
 * outbox entries that cancel the runs of active executions; runs of opt-in requests are signalled.
 * Returns the ids of the contacts that existed.
 */
export async function deleteContacts(
  tx: Database,
  projectId: string,
  ids: readonly string[],
): Promise<string[]> {
  // Locks the contacts first, in the common order: see `enterStep`.
  const contacts = await tx
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forUpdate()
    .execute();
  const deleted = contacts.map((contact) => contact.id);
  await keepOptOuts(tx, projectId, deleted);
  const executions = await tx
    .selectFrom('execution')
    .select('id')
    .where('contact_id', '=', anyOf(deleted))
    .where('status', 'in', activeStatuses)
    .execute();
  await signalRunsOf(tx, deleted);
  await deleteMail(tx, { where: sql<boolean>`contact_id = ${anyOf(deleted)}` });
  await tx.deleteFrom('contact').where('id', '=', anyOf(deleted)).execute();
  const runIds = executions.map(({ id }) => executionRunId(id));
  notifyAfterCommit(
    tx,
    runIds.map((runId) => ({ runId, projectId })),
  );
  return deleted;
}
