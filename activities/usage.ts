import type { Database } from '../db/database.ts';
import { deleteUsageReports, listUsageReports, type UsageReport } from '../db/usage-reports.ts';
import type { Payments } from '../providers/payments.ts';

export interface UsageServices {
  db: Database;
  /** null: billing is off. */
  payments: Pick<Payments, 'reportUsage'> | null;
}

/** Reports under way at once. */
const concurrency = 16;
/** Messages taken from the database at once. */
const pageSize = 500;
/** Other chores wait for this one, and the rest comes with the next sweep. */
const shiftMs = 20_000;

/** Reports what was sent, oldest first, for a while. */
export async function reportDueUsage({ db, payments }: UsageServices): Promise<void> {
  if (!payments) return;
  const shiftEnd = Date.now() + shiftMs;
  while (Date.now() < shiftEnd) {
    const page = await listUsageReports(db, pageSize);
    await reportUsage(db, payments, page);
    if (page.length < pageSize) return;
  }
}

/**
 * Tells the payment provider of sent messages, each by its id. What was told is forgotten; who
 * dies in between tells it again, and the provider knows the id.
 * @throws the first failure, after the others were tried.
 */
export async function reportUsage(
  db: Database,
  payments: Pick<Payments, 'reportUsage'>,
  reports: readonly UsageReport[],
): Promise<void> {
  const queue = reports.values();
  const told: string[] = [];
  const failures: unknown[] = [];
  async function work(): Promise<void> {
    for (const report of queue) {
      await payments.reportUsage(report).then(
        () => told.push(report.emailId),
        (error: unknown) => failures.push(error),
      );
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work));
  if (told.length > 0) await deleteUsageReports(db, told);
  if (failures.length > 0) throw failures[0];
}
