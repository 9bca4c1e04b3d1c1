import pLimit from 'p-limit';
import type { Database } from '../../db/database.ts';
import {
  deleteUsageReports,
  listUsageReports,
  type UsageReport,
} from '../../db/billing/usage-reports.ts';
import { type Payments, UsageRefused } from '../../providers/payments/stripe.ts';

export interface UsageServices {
  db: Database;
  /** null: billing is off. */
  payments: Pick<Payments, 'reportUsage'> | null;
  log: { warn(details: object, message: string): void };
}

const concurrency = 16;
/** Maximum number of messages read from the database at once. */
const pageSize = 500;
/** Milliseconds after which a call ends, because other tasks wait. The next sweep continues. */
const sliceMs = 20_000;
/**
 * Maximum age in milliseconds of a meter event that Stripe accepts
 * (docs.stripe.com/api/billing/meter-event/create). A newer event that Stripe refuses is kept,
 * because the operator may still set up the meter.
 */
const oldestMs = 35 * 86_400_000;

/**
 * Reports sent messages of all customers, or of one, oldest first, for one time slice.
 * @throws the first error, after the time slice or after all reports
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
    if (refused.length > 0)
      log.warn(
        { emailIds: refused },
        'Sent mail cannot be billed: the payment provider refuses the report of its usage',
      );
    const over = [...told, ...refused];
    if (over.length > 0) await deleteUsageReports(db, over);
    failures.push(...failed);
    // Continue after failed reports, so that they do not block the rest.
    after = page.length < pageSize ? undefined : page.at(-1);
  } while (after && Date.now() < end);
  if (failures.length > 0) throw failures[0];
}

/**
 * Reports sent messages to the payment provider, each by its id, until `end`. After a crash a
 * report may be repeated, but the provider counts each id once.
 */
async function tell(
  payments: Pick<Payments, 'reportUsage'>,
  reports: readonly UsageReport[],
  end: number,
) {
  const told: string[] = [];
  /** Ids of reports that the provider will never accept. */
  const refused: string[] = [];
  const failed: unknown[] = [];
  await pLimit(concurrency).map(reports, async (report) => {
    if (Date.now() > end) return;
    const isTooOld = Date.now() - report.sentAt.getTime() > oldestMs;
    await payments.reportUsage(report).then(
      () => told.push(report.emailId),
      (error: unknown) => {
        if (isTooOld && error instanceof UsageRefused) refused.push(report.emailId);
        else failed.push(error);
      },
    );
  });
  return { told, refused, failed };
}
