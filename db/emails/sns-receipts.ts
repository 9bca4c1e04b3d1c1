import type { Database } from '../database.ts';

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
