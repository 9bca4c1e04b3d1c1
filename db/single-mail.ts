import { type Insertable, type Selectable, sql } from 'kysely';
import type { Database } from './database.ts';
import { insertRunWake } from './run-wakes.ts';
import type { SingleMail } from './tables.ts';

export type SingleMailRow = Selectable<SingleMail>;

/** A mail outside the ledger. `html`: a fragment or a whole document. */
export type NewSingleMail = Pick<
  Insertable<SingleMail>,
  'to_email' | 'from_email' | 'from_name' | 'reply_to' | 'subject' | 'html'
> &
  ({ kind: 'campaign-test'; project_id: string } | { kind: 'platform-mail'; project_id: null });

const summaries = { 'campaign-test': 'Test of a campaign', 'platform-mail': 'Account mail' };

/**
 * Notes a mail outside the ledger, in the transaction of its cause. Answers the run that sends it:
 * hand it to the dispatcher once the transaction is committed.
 */
export async function insertSingleMail(tx: Database, mail: NewSingleMail): Promise<string> {
  const { id } = await tx
    .insertInto('single_mail')
    .values(mail)
    .returning('id')
    .executeTakeFirstOrThrow();
  return insertRunWake(tx, {
    kind: 'singleMail',
    input: { projectId: mail.project_id, mailId: id, kind: mail.kind },
    summary: summaries[mail.kind],
  });
}

/**
 * Claims a mail for one attempt, committed before it is handed over. Undefined when it is gone, or
 * when an attempt before was cut short: it may have left, and must not leave twice.
 */
export async function claimSingleMail(
  db: Database,
  id: string,
  attemptId: string,
): Promise<SingleMailRow | undefined> {
  const row = await db
    .updateTable('single_mail')
    .set((eb) => ({ attempt_id: attemptId, attempts: eb('attempts', '+', 1) }))
    .where('id', '=', id)
    .where('attempt_id', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (!row) await deleteSingleMail(db, id);
  return row;
}

/** Lets a claimed mail be tried again. */
export async function releaseSingleMail(db: Database, id: string): Promise<void> {
  await db.updateTable('single_mail').set({ attempt_id: null }).where('id', '=', id).execute();
}

/** Forgets a mail: it has left, or never will. */
export async function deleteSingleMail(db: Database, id: string): Promise<void> {
  await sql`delete from single_mail where id = ${id}`.execute(db);
}

/** Whose limit a waiting mail counts against; undefined when it is gone. */
export async function findSingleMail(
  db: Database,
  id: string,
): Promise<{ projectId: string | null } | undefined> {
  return db
    .selectFrom('single_mail')
    .select('project_id as projectId')
    .where('id', '=', id)
    .executeTakeFirst();
}
