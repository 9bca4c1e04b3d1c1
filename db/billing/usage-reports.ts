import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';

/** A sent message that is not yet reported to the payment provider. */
export interface UsageReport {
  emailId: string;
  customer: string;
  units: number;
  sentAt: Date;
}

/**
 * Lists the oldest unreported messages, of one customer or of all. `after`: the last message of the
 * previous page.
 */
export async function listUsageReports(
  db: Database,
  max: number,
  { customer, after }: { customer?: string | undefined; after?: UsageReport | undefined } = {},
): Promise<UsageReport[]> {
  let query = db
    .selectFrom('usage_report')
    .select(['email_id as emailId', 'customer', 'units', 'sent_at as sentAt']);
  if (customer !== undefined) query = query.where('customer', '=', customer);
  if (after) {
    const { sentAt, emailId } = after;
    query = query.where(sql<boolean>`(sent_at, email_id) > (${sentAt}, ${emailId}::uuid)`);
  }
  return query.orderBy('sent_at').orderBy('email_id').limit(max).execute();
}

/** Deletes messages that were reported, or that can never be reported. */
export async function deleteUsageReports(db: Database, emailIds: readonly string[]): Promise<void> {
  await db.deleteFrom('usage_report').where('email_id', '=', anyOf(emailIds)).execute();
}
