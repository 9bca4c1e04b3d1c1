import { sql } from 'kysely';
import { limits } from '../../domain/limits.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { lowerAscii } from '../../domain/email-address.ts';

export interface MailboxSummary {
  id: string;
  sender: string;
  recipient: string;
  subject: string;
  received_at: Date;
}

/**
 * Stores a caught mail and deletes all but the newest thousand. `id` is the email id: storing a
 * mail twice keeps one.
 */
export async function insertMailboxMessage(
  db: Database,
  message: { id: string; sender: string; recipient: string; subject: string; raw: Buffer },
): Promise<void> {
  await db
    .insertInto('mailbox_message')
    .values({ ...message, recipient: lowerAscii(message.recipient) })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  // The index finds the surplus rows, usually one. Locked rows are skipped, so that two processes
  // do not wait for each other.
  await sql`
    delete from mailbox_message where id in (
      select id from mailbox_message where id in (
        select id from mailbox_message order by received_at desc, id desc
        offset ${limits.mailboxMessages}::int
      ) for update skip locked
    )`.execute(db);
}

/**
 * Lists the newest mails first, without their content. `to`, in lower case, filters by recipient.
 */
export async function listMailboxMessages(
  db: Database,
  { to, limit }: { to?: string | undefined; limit: number },
): Promise<MailboxSummary[]> {
  return db
    .selectFrom('mailbox_message')
    .select(['id', 'sender', 'recipient', 'subject', 'received_at'])
    .$if(to !== undefined, (query) => query.where('recipient', '=', to ?? ''))
    .orderBy('received_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** Returns one mail with its bytes. */
export async function findMailboxMessage(
  db: Database,
  id: string,
): Promise<(MailboxSummary & { raw: Buffer }) | undefined> {
  return db
    .selectFrom('mailbox_message')
    .select(columnsOf('mailbox_message'))
    .where('id', '=', id)
    .executeTakeFirst();
}
