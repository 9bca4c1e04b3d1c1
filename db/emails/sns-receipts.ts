import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { deleteInPages } from '../pages.ts';

/** Records that a notification is being handled. Returns false when it was handled before. */
export async function insertSnsReceipt(tx: Database, messageId: string): Promise<boolean> {
  const inserted = await tx
    .insertInto('sns_receipt')
    .values({ message_id: messageId })
    .onConflict((conflict) => conflict.doNothing())
    .returning('message_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** SNS repeats a notification for hours at most, never after 30 days. */
export async function deleteOldSnsReceipts(db: Database): Promise<void> {
  const where = sql<boolean>`created_at < now() - interval '30 days'`;
  await deleteInPages(db, { table: 'sns_receipt', where, rows: 5000 });
}
