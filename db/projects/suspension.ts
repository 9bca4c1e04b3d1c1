import type { Database } from '../database.ts';

/** Why a project is disabled. */
export type DisabledReason =
  | 'PAYMENT_FAILED'
  | 'EMAIL_REPUTATION'
  | 'PHISHING_DETECTED'
  | 'CARD_VERIFICATION_FAILED'
  | 'MANUAL';

/**
 * Returns the unpaid invoices for which a project is disabled with PAYMENT_FAILED; undefined: it is
 * not disabled with this reason.
 */
export async function findOwedInvoices(
  db: Database,
  projectId: string,
): Promise<string[] | undefined> {
  const row = await db
    .selectFrom('suspension')
    .select('invoices')
    .where('project_id', '=', projectId)
    .where('reason', '=', 'PAYMENT_FAILED')
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return row?.invoices;
}

/** Stores the unpaid invoices of a project, if it is disabled with PAYMENT_FAILED. */
export async function updateOwedInvoices(
  tx: Database,
  projectId: string,
  invoices: readonly string[],
): Promise<void> {
  await tx
    .updateTable('suspension')
    .set({ invoices: [...invoices] })
    .where('project_id', '=', projectId)
    .where('reason', '=', 'PAYMENT_FAILED')
    .where('ended_at', 'is', null)
    .execute();
}

/** Lists the last suspensions of a project, newest first. */
export async function listSuspensions(db: Database, projectId: string, max: number) {
  return db
    .selectFrom('suspension')
    .select(['reason', 'at', 'ended_at'])
    .where('project_id', '=', projectId)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(max)
    .execute();
}
