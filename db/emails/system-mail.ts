import { type Insertable, type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { SystemMail } from '../tables.ts';

export type SystemMailRow = Selectable<SystemMail>;

/** A mail without a row in `email`. `html`: a fragment or a whole document. */
export type NewSystemMail = Pick<
  Insertable<SystemMail>,
  'to_email' | 'from_email' | 'from_name' | 'reply_to' | 'subject' | 'html'
> &
  (
    | {
        kind: 'campaign-test';
        project_id: string;
        message_class: string;
        topic_id: string | null;
      }
    | { kind: 'platform-mail'; project_id: null }
  );

const summaries = { 'campaign-test': 'Test of a campaign', 'platform-mail': 'Account mail' };

/** Inserts a system mail, in the transaction that causes it, and requests the run that sends it. */
export async function insertSystemMail(tx: Database, mail: NewSystemMail): Promise<void> {
  const { id } = await tx
    .insertInto('system_mail')
    .values(mail)
    .returning('id')
    .executeTakeFirstOrThrow();
  await enqueueMail(tx, { ...mail, id });
}

function enqueueMail(
  tx: Database,
  {
    id,
    project_id: projectId,
    kind,
  }: Pick<SystemMailRow, 'id' | 'project_id'> & {
    kind: NewSystemMail['kind'];
  },
): Promise<void> {
  const input = { projectId, mailId: id, kind };
  return enqueue(tx, { kind: 'systemMail', input, summary: summaries[kind] });
}

/**
 * Signals, every ten minutes, the runs of unsent system mails: such a run may be lost, or was ended
 * in Temporal. A run that is active ignores the signal.
 */
export async function signalStalledSystemMail(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<Parameters<typeof enqueueMail>[1]>`
      update system_mail set next_reconcile_at = now() + interval '10 minutes'
        where id in (select id from system_mail
          where next_reconcile_at < now() limit ${max} for update skip locked)
        returning id, project_id, kind`.execute(tx);
    for (const row of rows) await enqueueMail(tx, row);
  });
}

/**
 * Claims a mail for one attempt, committed before it is given to the mail provider. Returns the
 * attempt's number, from 1; the same number if the same attempt asks again because the response was
 * lost. Returns undefined when the mail is deleted, or claimed by another attempt, which may have
 * sent it: it must not be sent twice.
 */
export async function claimSystemMail(
  db: Database,
  id: string,
  attemptId: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ attempts: number }>`
    update system_mail set attempt_id = ${attemptId},
        attempts = attempts + case when attempt_id is null then 1 else 0 end
      where id = ${id} and (attempt_id is null or attempt_id = ${attemptId})
      returning attempts`.execute(db);
  return rows[0]?.attempts;
}

/**
 * Allows another attempt of a mail that this attempt has claimed and certainly not given to the
 * mail provider.
 */
export async function releaseSystemMail(
  db: Database,
  id: string,
  attemptId: string,
): Promise<void> {
  await db
    .updateTable('system_mail')
    .set({ attempt_id: null })
    .where('id', '=', id)
    .where('attempt_id', '=', attemptId)
    .execute();
}

/** Deletes a mail that was sent or will never be. */
export async function deleteSystemMail(db: Database, id: string): Promise<void> {
  await sql`delete from system_mail where id = ${id}`.execute(db);
}

/** Finds a mail that waits or is being sent; undefined when it is deleted. */
export async function findSystemMail(db: Database, id: string): Promise<SystemMailRow | undefined> {
  return db
    .selectFrom('system_mail')
    .select(columnsOf('system_mail'))
    .where('id', '=', id)
    .executeTakeFirst();
}
