import type { Database } from '../database.ts';

/** Records that a report is being handled. Returns false when it was handled before. */
export async function insertReportReceipt(tx: Database, id: string): Promise<boolean> {
  const inserted = await tx
    .insertInto('report_receipt')
    .values({ id })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted !== undefined;
}
