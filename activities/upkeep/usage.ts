import type { Database } from '../../db/database.ts';
import {
  deleteUsageReports,
  listUsageReports,
  type UsageReport,
} from '../../db/billing/usage-reports.ts';
import { type Payments, UsageRefused } from '../../providers/payments.ts';

export interface UsageServices {
  db: Database;
  /** null: billing is off. */
  payments: Pick<Payments, 'reportUsage'> | null;
  log: { warn(details: object, message: string): void };
}

/** Reports under way at once. */
const concurrency = 16;
/** Messages taken from the database at once. */
const pageSize = 500;
/** Other tasks wait for this one, and the rest comes with the next sweep. */
const sliceMs = 20_000;
/**
 * Stripe takes no meter event that is older (docs.stripe.com/api/billing/meter-event/create). A
 * younger one it refuses is kept, as somebody may still set up the meter.
 */
const oldestMs = 35 * 86_400_000;

/**
 * Reports what was sent, oldest first, for a while: by all, or by one customer.
 * @throws the first failure, after the others were tried.
 */
export async function reportDueUsage(
  { db, payments, log }: UsageServices,
  { customer, forMs = sliceMs }: { customer?: string; forMs?: number } = {},
): Promise<void> {
  if (!payments) return;
  const end = Date.now() + forMs;
  const failures: unknown[] = [];
  let after: UsageReport | undefined;
  do {
    const page = await listUsageReports(db, pageSize, { customer, after });
    const { told, refused, failed } = await tell(payments, page, end);
    if (refused.length > 0) log.warn({ emailIds: refused }, 'Sent mail cannot be billed any more');
    const over = [...told, ...refused];
    if (over.length > 0) await deleteUsageReports(db, over);
    failures.push(...failed);
    // What could not be told stays, and must not be all that is ever looked at.
    after = page.length < pageSize ? undefined : page.at(-1);
  } while (after && Date.now() < end);
  if (failures.length > 0) throw failures[0];
}

/**
 * Tells the payment provider of sent messages, each by its id, until `end`. Who dies before they
 * are forgotten tells them again, and the provider knows the id.
 */
async function tell(
  payments: Pick<Payments, 'reportUsage'>,
  reports: readonly UsageReport[],
  end: number,
) {
  const queue = reports.values();
  const told: string[] = [];
  /** Nobody will ever take them. */
  const refused: string[] = [];
  const failed: unknown[] = [];
  async function work(): Promise<void> {
    for (const report of queue) {
      if (Date.now() > end) return;
      const isTooOld = Date.now() - report.sentAt.getTime() > oldestMs;
      await payments.reportUsage(report).then(
        () => told.push(report.emailId),
        (error: unknown) => {
          if (isTooOld && error instanceof UsageRefused) refused.push(report.emailId);
          else failed.push(error);
        },
      );
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work));
  return { told, refused, failed };
}
