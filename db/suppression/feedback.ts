import { sql } from 'kysely';
import type { SuppressionScope } from '../../domain/mail/suppression.ts';
import type { Database } from '../database.ts';
import { type NewSuppression, recordSuppressions } from './list.ts';

/** An address to which mail should not be sent any more, according to feedback on a message. */
export interface BadAddress {
  projectId: string;
  email: string;
  emailId: string;
  /**
   * `hard_bounce`: the mailbox does not exist. `complaint`: its owner reported the mail as spam.
   */
  reason: 'hard_bounce' | 'complaint';
}

/**
 * Adds the addresses in feedback to the suppression lists of their projects, in the caller's
 * transaction. For permanent bounces, the project chooses the scope.
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
  // If several mails have the same address, keep the first.
  const byEmail = new Map<string, NewSuppression>();
  for (const { email, emailId, reason } of bad) {
    if (!byEmail.has(email)) byEmail.set(email, { email, emailId, reason, scope });
  }
  await recordSuppressions(tx, projectId, [...byEmail.values()]);
}

/** Returns the scope that a project has chosen for permanent bounces. */
export async function findBounceScope(db: Database, projectId: string): Promise<SuppressionScope> {
  const { rows } = await sql<{ scope: SuppressionScope }>`
    select coalesce(bounce_scope, 'marketing') as scope from project
      where id = ${projectId}`.execute(db);
  return rows[0]?.scope ?? 'marketing';
}
