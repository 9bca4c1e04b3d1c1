import { sql } from 'kysely';
import type { Role } from '../../domain/roles.ts';
import type { Database } from '../database.ts';
import { lockUser } from './users.ts';

export interface InvitationRow {
  /** Id of the project's row. */
  projectId: string;
  /** The project id that clients see, which differs from `projectId` after a reset. */
  publicId: string;
  projectName: string;
  /** Reason why the project is disabled; null: it is enabled. */
  disabledReason: string | null;
  role: Role;
  createdAt: Date;
}

function invitations(db: Database, userId: string) {
  return db
    .selectFrom('invitation')
    .innerJoin('project', 'project.id', 'invitation.project_id')
    .select(['project.id as projectId', 'project.name as projectName'])
    .select(sql<string>`coalesce(project.public_id, project.id)`.as('publicId'))
    .select(['project.disabled_reason as disabledReason', 'invitation.role'])
    .select('invitation.created_at as createdAt')
    .where('project.removal', 'is', null)
    .where('invitation.user_id', '=', userId);
}

/** Lists the projects to which a user is invited, newest first. */
export async function listInvitations(db: Database, userId: string): Promise<InvitationRow[]> {
  const rows = await invitations(db, userId)
    .orderBy('invitation.created_at', 'desc')
    .orderBy('project.id', 'desc')
    .execute();
  return rows as InvitationRow[];
}

/** Returns the invitation of a user to the project with this public id. */
export async function findInvitation(
  db: Database,
  publicId: string,
  userId: string,
): Promise<InvitationRow | undefined> {
  const row = await invitations(db, userId)
    .where(sql<boolean>`coalesce(project.public_id, project.id) = ${publicId}`)
    .executeTakeFirst();
  return row as InvitationRow | undefined;
}

/**
 * Turns an invitation into a membership. Returns the role of the new member; undefined when the
 * invitation was withdrawn or the account was deleted in the meantime.
 */
export async function acceptInvitation(
  tx: Database,
  projectId: string,
  userId: string,
): Promise<Role | undefined> {
  if (!(await lockUser(tx, userId))) return undefined;
  const { rows } = await sql<{ role: Role }>`
    insert into membership (project_id, user_id, role, added_by, by_key_at)
      select project_id, user_id, role, added_by, by_key_at from invitation
        where project_id = ${projectId} and user_id = ${userId} for update
      returning role`.execute(tx);
  return rows[0]?.role;
}

/** Returns true if a user is invited to a project or is a member of one. */
export async function hasProjects(db: Database, userId: string): Promise<boolean> {
  const { rows } = await sql`
    select from invitation where user_id = ${userId}
    union all select from membership where user_id = ${userId}
    limit 1`.execute(db);
  return rows.length > 0;
}
