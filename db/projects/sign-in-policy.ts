import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** A rule by which users of an OpenID provider are members of a project. */
export interface SignInRule {
  /** The id of the provider. */
  provider: string;
  /**
   * A claim that the user must have, and its value; null: the rule applies to every user of the
   * provider.
   */
  claim: string | null;
  value: string | null;
  role: 'ADMIN' | 'MEMBER';
}

/** The requirements of a project for the sign-in of its members. */
export interface SignInPolicy {
  requireSecondFactor: boolean;
  rules: SignInRule[];
  /** null: the policy was never set. */
  updatedAt: Date | null;
}

const policyColumns = [
  'requires_second_factor as requireSecondFactor',
  'sign_in_policy_at as updatedAt',
] as const;

/** Returns the policy; undefined for a deleted project. */
export async function readSignInPolicy(
  db: Database,
  projectId: string,
): Promise<SignInPolicy | undefined> {
  const policy = await db
    .selectFrom('project')
    .select(policyColumns)
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .executeTakeFirst();
  if (!policy) return undefined;
  const rules = await db
    .selectFrom('sign_in_rule')
    .select(['provider', 'claim', 'value', 'role'])
    .where('project_id', '=', projectId)
    .orderBy('position')
    .execute();
  return { ...policy, rules: rules as SignInRule[] };
}

/**
 * Replaces the policy. A required factor applies to all sessions from the next request on, a rule
 * from the next sign-in of each user.
 */
export async function updateSignInPolicy(
  tx: Database,
  projectId: string,
  { requireSecondFactor, rules }: Omit<SignInPolicy, 'updatedAt'>,
): Promise<SignInPolicy | undefined> {
  const policy = await tx
    .updateTable('project')
    .set({
      requires_second_factor: requireSecondFactor,
      sign_in_policy_at: sql<Date>`now()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .returning(policyColumns)
    .executeTakeFirst();
  if (!policy) return undefined;
  await tx.deleteFrom('sign_in_rule').where('project_id', '=', projectId).execute();
  const rows = rules.map((rule, position) => ({ ...rule, position, project_id: projectId }));
  if (rows.length > 0) await tx.insertInto('sign_in_rule').values(rows).execute();
  return { ...policy, rules };
}
