import { type Database, transact } from '../../db/database.ts';
import { insertAllowanceWarning, listAllowances } from '../../db/billing/billing.ts';
import { listAdministrators } from '../../db/accounts/members.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { limitWarningMail } from '../../domain/mail/account-mail.ts';
import { capOf, categories, percentOf, warningPercent } from '../../domain/billing.ts';

export interface WarningServices {
  db: Database;
  /** null: billing is off, so there are no limits. */
  billingRules: { freeTierPerMonth: number } | null;
  /** Sender of account mail; null: no account mail is sent. */
  platformFrom: string | null;
  dashboardUrl: string;
}

/**
 * Warns the administrators of projects that have used most of a limit, once per month and category.
 * In the free tier, one limit covers all categories.
 */
export async function warnOfLimits({
  db,
  billingRules,
  platformFrom,
  dashboardUrl,
}: WarningServices): Promise<void> {
  if (!billingRules || platformFrom === null) return;
  for (const project of await listAllowances(db)) {
    for (const category of categories) {
      const cap = capOf(category, project, billingRules.freeTierPerMonth);
      if (!cap) continue;
      const usage = cap.counts.reduce((sum, counted) => sum + project.taken[counted], 0);
      if (percentOf(usage, cap.limit) < warningPercent) continue;
      const limited = cap.counts.length > 1 ? 'all' : category;
      const mail = limitWarningMail({
        project: project.name,
        category: limited,
        limit: cap.limit,
        usage,
        link: dashboardUrl,
      });
      await transact(db, async (tx) => {
        if (!(await insertAllowanceWarning(tx, project.id, limited))) return;
        const to = await listAdministrators(tx, project.id);
        await insertPlatformMail(tx, platformFrom, to, mail);
      });
    }
  }
}
