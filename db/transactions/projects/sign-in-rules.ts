import { sql } from 'kysely';
import type { ClaimText } from '../../../domain/access/claims.ts';
import type { Role } from '../../../domain/roles.ts';
import { type Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';

/** The memberships that rules of projects give to a user of an OpenID provider. */

/** Maximum number of memberships that one transaction changes. */
export const pageSize = 200;

export interface ProviderUser {
  userId: string;
  provider: string;
  /** Public ids of the projects that may let users of the provider in; null: all projects. */
  projects: readonly string[] | null;
  claims: readonly ClaimText[];
}

/**
 * A membership that differs from the rules. `before` and `after` are the roles; null: no
 * membership.
 */
export interface MemberChange {
  projectId: string;
  before: Role | null;
  after: Role | null;
}

/**
 * Lists the memberships to make, change and end, by the id of their project. Memberships that were
 * made by hand or by another provider, and the owner's, are left out.
 * @param after the last project of the former page; null: the first page
 */
export async function findMemberChanges(
  tx: Database,
  { userId, provider, projects, claims, after }: ProviderUser & { after: string | null },
): Promise<MemberChange[]> {
  const { rows } = await sql<MemberChange>`
    with fitting as (
      select inner_rule.project_id, inner_rule.role from sign_in_rule inner_rule
        where inner_rule.provider = ${provider} and inner_rule.claim is null
      union all
      select inner_rule.project_id, inner_rule.role
        from unnest(${claims.map(({ claim }) => claim)}::text[],
            ${claims.map(({ value }) => value)}::text[]) as inner_claim(claim, value)
          join sign_in_rule inner_rule on inner_rule.provider = ${provider}
            and inner_rule.claim = inner_claim.claim and inner_rule.value = inner_claim.value),
    wanted as (
      select fitting.project_id,
          case when bool_or(fitting.role = 'ADMIN') then 'ADMIN' else 'MEMBER' end as role
        from fitting join project inner_project
          on inner_project.id = fitting.project_id and inner_project.removal is null
        where ${projects === null} or
          coalesce(inner_project.public_id, inner_project.id) = ${anyOf(projects ?? [])}
        group by fitting.project_id),
    present as (
      select project_id, role, managed_by from membership where user_id = ${userId})
    select project_id as "projectId", present.role as before, wanted.role as after
      from wanted full join present using (project_id)
      where wanted.role is distinct from present.role
        and (present.role is null or present.managed_by = ${provider} and present.role <> 'OWNER')
        and (${after}::uuid is null or project_id > ${after}::uuid)
      order by project_id limit ${pageSize}`.execute(tx);
  return rows;
}

/**
 * Makes, changes and ends memberships, in a transaction that has locked the user. Returns what it
 * has changed: a project may have been reset or deleted meanwhile.
 */
export async function applyMemberChanges(
  tx: Database,
  { userId, provider }: Pick<ProviderUser, 'userId' | 'provider'>,
  changes: readonly MemberChange[],
): Promise<MemberChange[]> {
  const held = await holdProjects(
    tx,
    changes.map(({ projectId }) => projectId),
  );
  const valid = changes.filter(({ projectId }) => held.has(projectId));
  for (const { projectId, before, after } of valid) {
    const own = { project_id: projectId, user_id: userId };
    if (before === null && after !== null) {
      const values = { ...own, role: after, managed_by: provider, added_by: 'system:server' };
      await tx.insertInto('membership').values(values).execute();
      continue;
    }
    const isOwn = sql<boolean>`project_id = ${projectId} and user_id = ${userId}
      and managed_by = ${provider}`;
    if (after === null) await tx.deleteFrom('membership').where(isOwn).execute();
    else await tx.updateTable('membership').set({ role: after }).where(isOwn).execute();
  }
  return valid;
}

/** Prevents reset and deletion of projects until the transaction ends. Returns those that exist. */
async function holdProjects(tx: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx
    .selectFrom('project')
    .select('id')
    .where('id', '=', anyOf(ids))
    .where('removal', 'is', null)
    .orderBy('id')
    .forKeyShare()
    .execute();
  return new Set(rows.map(({ id }) => id));
}
