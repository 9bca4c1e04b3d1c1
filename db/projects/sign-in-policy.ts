import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The demands of a project on the sign-in of its members. */
export interface SignInPolicy {
  requireSecondFactor: boolean;
  /** null: it was never set. */
  updatedAt: Date | null;
}

/** Returns undefined for a project that is gone. */
export async function readSignInPolicy(
  db: Database,
  projectId: string,
): Promise<SignInPolicy | undefined> {
  return db
    .selectFrom('project')
    .select(['requires_second_factor as requireSecondFactor', 'sign_in_policy_at as updatedAt'])
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .executeTakeFirst();
}

/** Changes the policy. It applies to all sessions from the next request on. */
export async function updateSignInPolicy(
  tx: Database,
  projectId: string,
  { requireSecondFactor }: Pick<SignInPolicy, 'requireSecondFactor'>,
): Promise<SignInPolicy | undefined> {
  return tx
    .updateTable('project')
    .set({
      requires_second_factor: requireSecondFactor,
      sign_in_policy_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .returning(['requires_second_factor as requireSecondFactor', 'sign_in_policy_at as updatedAt'])
    .executeTakeFirst();
}
