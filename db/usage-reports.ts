import { sql } from 'kysely';
import type { Database } from './database.ts';

/** A sent message that the payment provider has not been told of. */
export interface UsageReport {
  emailId: string;
  customer: string;
  units: number;
  sentAt: Date;
}

/** The oldest unreported messages, of one customer or of all. */
export async function listUsageReports(
  db: Database,
  max: number,
  customer?: string,
): Promise<UsageReport[]> {
  return db
    .selectFrom('usage_report')
    .select(['email_id as emailId', 'customer', 'units', 'sent_at as sentAt'])
    .$if(customer !== undefined, (query) => query.where('customer', '=', customer ?? ''))
    .orderBy('sent_at')
    .limit(max)
    .execute();
}

/** Forgets messages that were reported. */
export async function deleteUsageReports(db: Database, emailIds: readonly string[]): Promise<void> {
  await db
    .deleteFrom('usage_report')
    .where('email_id', '=', sql<string>`any(${emailIds}::uuid[])`)
    .execute();
}
