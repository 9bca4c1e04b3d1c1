import type { Role } from '../domain/roles.ts';
import type { Database } from './database.ts';

export interface MemberRow {
  user_id: string;
  email: string;
  role: Role;
  created_at: Date;
}

function members(db: Database, projectId: string) {
  return db
    .selectFrom('membership')
    .innerJoin('app_user', 'app_user.id', 'membership.user_id')
    .select(['membership.user_id', 'app_user.email', 'membership.role', 'membership.created_at'])
    .where('membership.project_id', '=', projectId);
}

/** The owner first, then the oldest. */
export async function listMembers(db: Database, projectId: string): Promise<MemberRow[]> {
  const rows = await members(db, projectId)
    .orderBy((eb) => eb.case().when('membership.role', '=', 'OWNER').then(0).else(1).end())
    .orderBy('membership.created_at')
    .orderBy('membership.user_id')
    .execute();
  return rows as MemberRow[];
}

export async function findMember(
  db: Database,
  projectId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const row = await members(db, projectId)
    .where('membership.user_id', '=', userId)
    .executeTakeFirst();
  return row as MemberRow | undefined;
}

/** False when the user is a member already. */
export async function insertMember(
  db: Database,
  member: { projectId: string; userId: string; role: Role },
): Promise<boolean> {
  const row = await db
    .insertInto('membership')
    .values({ project_id: member.projectId, user_id: member.userId, role: member.role })
    .onConflict((conflict) => conflict.columns(['project_id', 'user_id']).doNothing())
    .returning('user_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** False when there is no such member any more. Never the owner's. */
export async function updateMemberRole(
  db: Database,
  projectId: string,
  userId: string,
  role: Role,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('membership')
    .set({ role })
    .where('project_id', '=', projectId)
    .where('user_id', '=', userId)
    .where('role', '<>', 'OWNER')
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** False when there is no such member any more. Never the owner. */
export async function deleteMember(
  db: Database,
  projectId: string,
  userId: string,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('membership')
    .where('project_id', '=', projectId)
    .where('user_id', '=', userId)
    .where('role', '<>', 'OWNER')
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** The addresses of those who may change a project's settings. */
export async function listAdministrators(db: Database, projectId: string): Promise<string[]> {
  const rows = await members(db, projectId)
    .where('membership.role', 'in', ['OWNER', 'ADMIN'])
    .execute();
  return rows.map((row) => row.email);
}
