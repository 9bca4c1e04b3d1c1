import { sql } from 'kysely';
import type { SuppressionScope } from '../../domain/mail/suppression.ts';
import type { Database } from '../database.ts';
import { type NewSuppression, recordSuppressions } from './list.ts';

/** Address that feedback on a message reports as bad. */
export interface BadAddress {
  projectId: string;
  email: string;
  emailId: string;
  /** `hard_bounce`: there is no such mailbox. `complaint`: its owner reported the mail as spam. */
  reason: 'hard_bounce' | 'complaint';
}

/**
 * Adds the addresses of feedback to the suppression lists of their projects, in the caller's
 * transaction. The project chooses the scope for permanent bounces.
 */
export async function suppressBadAddresses(
  tx: Database,
  found: readonly BadAddress[],
): Promise<void> {
  for (const projectId of [...new Set(found.map((one) => one.projectId))].toSorted()) {
    const own = found.filter((one) => one.projectId === projectId);
    const bounced = own.filter(({ reason }) => reason === 'hard_bounce');
    const complained = own.filter(({ reason }) => reason === 'complaint');
    const scope = bounced.length > 0 ? await findBounceScope(tx, projectId) : 'marketing';
    await record(tx, projectId, bounced, scope);
    await record(tx, projectId, complained, 'marketing');
  }
}

async function record(
  tx: Database,
  projectId: string,
  bad: readonly BadAddress[],
  scope: SuppressionScope,
): Promise<void> {
  // Keep the first one of several mails to one address.
  const byEmail = new Map<string, NewSuppression>();
  for (const { email, emailId, reason } of bad) {
    if (!byEmail.has(email)) byEmail.set(email, { email, emailId, reason, scope });
  }
  await recordSuppressions(tx, projectId, [...byEmail.values()]);
}

/** Returns the scope of entries for permanent bounces in a project. */
export async function findBounceScope(db: Database, projectId: string): Promise<SuppressionScope> {
  const { rows } = await sql<{ scope: SuppressionScope }>`
    select coalesce(bounce_scope, 'marketing') as scope from project
      where id = ${projectId}`.execute(db);
  return rows[0]?.scope ?? 'marketing';
}
