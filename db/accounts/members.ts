import { sql } from 'kysely';
import type { Role } from '../../domain/roles.ts';
import type { Database } from '../database.ts';
import { lockUser } from './users.ts';

/** `invited`: the user has not accepted the invitation yet. */
export type MemberStatus = 'active' | 'invited';

export interface MemberRow {
  user_id: string;
  email: string;
  role: Role;
  status: MemberStatus;
  /** The actor that added the member, as `actorOf` writes actors; null for the owner. */
  added_by: string | null;
  /**
   * The OpenID provider whose rules created the membership; null: a person or an API key created
   * it.
   */
  managed_by: string | null;
  created_at: Date;
}

type MemberTable = 'membership' | 'invitation';

function people(db: Database, table: MemberTable, projectId: string) {
  return db
    .selectFrom(db.dynamic.table(table).as('m'))
    .innerJoin('app_user', 'app_user.id', 'm.user_id')
    .select(['m.user_id', 'app_user.email', 'm.role', 'm.created_at', 'm.by_key_at', 'm.added_by'])
    .select(sql<string>`${table === 'membership' ? 'active' : 'invited'}::text`.as('status'))
    .select(
      sql<string | null>`${table === 'membership' ? sql.ref('m.managed_by') : null}::text`.as(
        'managed_by',
      ),
    )
    .where('m.project_id', '=', projectId);
}

/**
 * Lists members and invited users: the owner first, then the oldest.
 * @param options.byKeyDays lists only users that a secret key added, or gave another role, within
 * the last `byKeyDays` days
 */
export async function listMembersAndInvited(
  db: Database,
  projectId: string,
  { byKeyDays }: { byKeyDays?: number } = {},
): Promise<MemberRow[]> {
  const rows = await db
    .selectFrom(
      people(db, 'membership', projectId)
        .unionAll(people(db, 'invitation', projectId))
        .as('person'),
    )
    .select(['user_id', 'email', 'role', 'created_at', 'status', 'added_by', 'managed_by'])
    .$if(byKeyDays !== undefined, (query) =>
      query.where('by_key_at', '>', sql<Date>`now() - ${byKeyDays} * interval '1 day'`),
    )
    .orderBy((eb) => eb.case().when('role', '=', 'OWNER').then(0).else(1).end())
    .orderBy('created_at')
    .orderBy('user_id')
    .execute();
  return rows as MemberRow[];
}

export async function isMemberAddress(
  db: Database,
  projectId: string,
  email: string,
): Promise<boolean> {
  const row = await people(db, 'membership', projectId)
    .where('app_user.email', '=', email)
    .executeTakeFirst();
  return row !== undefined;
}

/** Finds a member or invited user, and locks the role until the transaction ends. */
export async function lockMember(
  tx: Database,
  projectId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  return (await lockUser(tx, userId)) ? findMember(tx, projectId, userId) : undefined;
}

/** Finds a member or invited user. */
export async function findMember(
  db: Database,
  projectId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const row = await people(db, 'membership', projectId)
    .where('m.user_id', '=', userId)
    .unionAll(people(db, 'invitation', projectId).where('m.user_id', '=', userId))
    .executeTakeFirst();
  return row as MemberRow | undefined;
}

/**
 * Adds a user as a member, or as an invited user.
 * @returns `exists` when the user is a member or invited already; `missing` when the account is
 * deleted
 */
export async function insertMember(
  tx: Database,
  member: {
    projectId: string;
    userId: string;
    role: Role;
    status: MemberStatus;
    /** The actor that adds the user, as `actorOf` writes actors. */
    addedBy: string;
    /** True if a secret key adds the user. */
    isByKey: boolean;
  },
): Promise<'added' | 'exists' | 'missing'> {
  // The lock makes other invitations of the user, and their acceptance, wait.
  if (!(await lockUser(tx, member.userId))) return 'missing';
  if (await findMember(tx, member.projectId, member.userId)) return 'exists';
  await tx
    .insertInto(member.status === 'active' ? 'membership' : 'invitation')
    .values({
      project_id: member.projectId,
      user_id: member.userId,
      role: member.role,
      added_by: member.addedBy,
      by_key_at: member.isByKey ? sql<Date>`now()` : null,
    })
    .execute();
  return 'added';
}

/**
 * Changes the role of a member or invited user, but not the owner's. Returns false when there is no
 * such member.
 */
export async function updateMemberRole(
  tx: Database,
  projectId: string,
  userId: string,
  { role, isByKey }: { role: Role; isByKey: boolean },
): Promise<boolean> {
  // Update `invitation` first: an invitation that is accepted in between is then found in
  // `membership`.
  for (const table of ['invitation', 'membership'] as const) {
    const { numUpdatedRows } = await tx
      .updateTable(table)
      .set({ role, ...(isByKey && { by_key_at: sql<Date>`now()` }) })
      .where('project_id', '=', projectId)
      .where('user_id', '=', userId)
      .where('role', '<>', 'OWNER')
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return true;
  }
  return false;
}

/**
 * Ends a membership or withdraws an invitation, but never removes the owner. Returns false when
 * neither exists.
 */
export async function deleteMember(
  tx: Database,
  projectId: string,
  userId: string,
): Promise<boolean> {
  // Delete from `invitation` first: an invitation that is accepted in between is then found in
  // `membership`.
  for (const table of ['invitation', 'membership'] as const) {
    const { numDeletedRows } = await tx
      .deleteFrom(table)
      .where('project_id', '=', projectId)
      .where('user_id', '=', userId)
      .where('role', '<>', 'OWNER')
      .executeTakeFirst();
    if (numDeletedRows > 0n) return true;
  }
  return false;
}

/** Lists the members who may change a project's settings, always in the same order. */
export async function findAdministrators(
  db: Database,
  projectId: string,
): Promise<{ user_id: string; email: string }[]> {
  return people(db, 'membership', projectId)
    .where('m.role', 'in', ['OWNER', 'ADMIN'])
    .orderBy('m.user_id')
    .execute();
}

/** Lists the addresses of the members who may change a project's settings. */
export async function listAdministrators(db: Database, projectId: string): Promise<string[]> {
  return (await findAdministrators(db, projectId)).map((row) => row.email);
}
