import { transact } from '../../../db/database.ts';
import {
  applyMemberChanges,
  findMemberChanges,
  type MemberChange,
  pageSize,
} from '../../../db/transactions/projects/sign-in-rules.ts';
import { lockUser } from '../../../db/accounts/users.ts';
import { readClaimTexts } from '../../../domain/access/claims.ts';
import type { OidcClaims } from '../../../providers/login/oidc.ts';
import type { OidcProvider } from '../../../providers/login/oidc-file.ts';
import { changesBetween } from '../../access/changes.ts';
import type { SecurityLog } from '../../access/security-log.ts';
import type { Services } from '../../services/services.ts';

/**
 * Creates, changes and ends the memberships of a user by the rules of the projects. Runs before the
 * session begins. So if the process dies, the next sign-in makes the remaining changes.
 */
export async function applyRules(
  { db, note }: Pick<Services, 'db'> & Pick<SecurityLog, 'note'>,
  { id: provider, projects }: OidcProvider,
  claims: OidcClaims,
  userId: string,
): Promise<void> {
  // null stands for any project.
  const admitted = projects === '*' ? null : projects;
  const user = { userId, provider, projects: admitted, claims: readClaimTexts(claims) };
  let after: string | null = null;
  do {
    const from: string | null = after;
    after = await transact(db, async (tx) => {
      // The lock makes other sign-ins and invitations of the user wait.
      if (!(await lockUser(tx, userId))) return null;
      const page = await findMemberChanges(tx, { ...user, after: from });
      const changed = await applyMemberChanges(tx, user, page);
      for (const change of changed) await noteChange({ note }, tx, { ...change, userId, provider });
      return page.length < pageSize ? null : (page.at(-1)?.projectId ?? null);
    });
  } while (after !== null);
}

async function noteChange(
  { note }: Pick<SecurityLog, 'note'>,
  tx: Services['db'],
  {
    projectId,
    before,
    after,
    userId,
    provider,
  }: MemberChange & { userId: string; provider: string },
): Promise<void> {
  const event =
    before === null ? 'member.joined' : after === null ? 'member.left' : 'member.role_changed';
  const details = { provider, memberId: userId, ...(after && { role: after }) };
  const changes = before && after && changesBetween({ role: before }, { role: after });
  const target = { type: 'user', id: userId };
  await note({ event, userId, projectId, target, changes, details }, tx);
}
