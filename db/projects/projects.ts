import type { Selectable, Updateable } from 'kysely';
import { sql } from 'kysely';
import { notFound, Problem } from '../../domain/errors.ts';
import type { Role } from '../../domain/roles.ts';
import { columnsFrom, columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { Project } from '../tables.ts';
import { onlyRow } from '../expressions.ts';

export type MemberProjectRow = Selectable<Project> & { role: Role };

export interface ProjectState {
  id: string;
  /** The id that clients see, which differs from `id` after a reset. */
  publicId: string;
  disabledReason: string | null;
  /** True if a contact must confirm by mail before a public key can subscribe it. */
  requiresConfirmation: boolean;
  /** True if the project's own secret key, unlike named keys, may make members administrators. */
  keysMayNameAdmins: boolean;
}

export const publicId = sql<string>`coalesce(project.public_id, project.id)`;

/** The keys of a project in their stored form. */
export interface StoredKeys {
  publicKey: string;
  secretKeyHash: Buffer;
  secretKeyLast4: string;
}

export async function findProject(
  db: Database,
  id: string,
): Promise<Selectable<Project> | undefined> {
  return db
    .selectFrom('project')
    .select(columnsOf('project'))
    .where('id', '=', id)
    .executeTakeFirst();
}

/** Finds a project, and prevents changes of its settings until the transaction ends. */
export async function lockProject(
  tx: Database,
  id: string,
): Promise<Selectable<Project> | undefined> {
  return tx
    .selectFrom('project')
    .select(columnsOf('project'))
    .where('id', '=', id)
    .where('removal', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/**
 * Prevents reset and deletion of a project until the transaction ends. Requests that write need
 * this: a client may take minutes to send its body, and the project may be deleted in the meantime.
 * @throws Problem PROJECT_NOT_FOUND when the project was reset or deleted since it was looked up.
 */
export async function holdProject(tx: Database, id: string): Promise<void> {
  const row = await tx
    .selectFrom('project')
    .select('id')
    .where('id', '=', id)
    .where('removal', 'is', null)
    .forKeyShare()
    .executeTakeFirst();
  if (!row) throw notFound('PROJECT', id);
}

/**
 * Like `holdProject`, but also prevents that the project is disabled until the transaction ends. A
 * later disabling then finds the work that the caller starts. Call this function before any contact
 * is locked, and not for frequent operations, because a change of the project waits until no
 * transaction holds it.
 * @throws Problem PROJECT_NOT_FOUND, PROJECT_DISABLED.
 */
export async function holdEnabledProject(tx: Database, id: string): Promise<void> {
  const row = await tx
    .selectFrom('project')
    .select('disabled_reason as reason')
    .where('id', '=', id)
    .where('removal', 'is', null)
    .forShare()
    .executeTakeFirst();
  if (!row) throw notFound('PROJECT', id);
  const { reason } = row;
  if (reason !== null) throw new Problem('PROJECT_DISABLED', { details: { reason } });
}

/** Returns true if a project has this public id. */
export async function projectExists(db: Database, publicId: string): Promise<boolean> {
  const row = await db
    .selectFrom('project')
    .select('id')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

/** A user's membership in a project. */
export interface Membership {
  project: ProjectState;
  role: Role;
  /** True if the project requires that members use a second factor. */
  requiresSecondFactor: boolean;
}

/**
 * Finds a user's membership in a project; undefined for non-members and unknown projects.
 * @param projectId the public id, or the id of the project's row.
 */
export async function findMembership(
  db: Database,
  projectId: string,
  userId: string,
): Promise<Membership | undefined> {
  const row = await db
    .selectFrom('membership')
    .innerJoin('project', 'project.id', 'membership.project_id')
    .select(['project.id', publicId.as('publicId')])
    .select(['project.disabled_reason as disabledReason', 'membership.role'])
    .select('project.opt_in_required as requiresConfirmation')
    .select('project.keys_may_name_admins as keysMayNameAdmins')
    .select('project.requires_second_factor as requiresSecondFactor')
    .where(
      sql<boolean>`(project.id = ${projectId} or coalesce(project.public_id, project.id) = ${projectId})`,
    )
    .where('project.removal', 'is', null)
    .where('membership.user_id', '=', userId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { role, requiresSecondFactor, ...project } = row;
  return { project, role: role as Role, requiresSecondFactor };
}

/** Lists the projects of which a user is a member, oldest first. */
export async function listProjects(db: Database, userId: string): Promise<MemberProjectRow[]> {
  const rows = await db
    .selectFrom('membership')
    .innerJoin('project', 'project.id', 'membership.project_id')
    .select(columnsOf('project'))
    .select('membership.role')
    .where('membership.user_id', '=', userId)
    .orderBy('project.created_at')
    .orderBy('project.id')
    .execute();
  return rows as MemberProjectRow[];
}

/** Creates a project with its owner in one transaction. */
export async function insertProject(
  db: Database,
  {
    ownerId,
    ...values
  }: StoredKeys & { name: string; webhookSigningSecret: Buffer; ownerId: string },
): Promise<MemberProjectRow> {
  const row = await db
    .with('made', (query) =>
      query.insertInto('project').values(columnsFrom(values)).returning(columnsOf('project')),
    )
    .with('owned', (query) =>
      query
        .insertInto('membership')
        .columns(['project_id', 'user_id', 'role'])
        .expression((from) =>
          from
            .selectFrom('made')
            .select(['made.id', sql<string>`${ownerId}::uuid`.as('user_id')])
            .select(sql<string>`'OWNER'`.as('role')),
        ),
    )
    .selectFrom('made')
    .select(columnsOf('project', 'made'))
    .executeTakeFirstOrThrow();
  return { ...row, role: 'OWNER' };
}

/**
 * Updates settings; absent ones keep their values. Returns undefined when the project is deleted.
 */
export async function updateProject(
  db: Database,
  id: string,
  settings: {
    name?: string | undefined;
    tracking?: string | undefined;
    language?: string | undefined;
    keysMayNameAdmins?: boolean | undefined;
  },
): Promise<Selectable<Project> | undefined> {
  return updateLive(db, id, columnsFrom(settings));
}

/** Replaces both keys of a project. Returns undefined when the project is deleted. */
export async function updateProjectKeys(
  db: Database,
  id: string,
  keys: StoredKeys,
): Promise<Selectable<Project> | undefined> {
  return updateLive(db, id, columnsFrom(keys));
}

/** Replaces the secret that signs webhooks. Returns undefined when the project is deleted. */
export async function updateWebhookSecret(
  db: Database,
  id: string,
  encrypted: Buffer,
): Promise<Selectable<Project> | undefined> {
  return updateLive(db, id, { webhook_signing_secret: encrypted });
}

function updateLive(db: Database, id: string, change: Updateable<Project>) {
  return db
    .updateTable('project')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .where('removal', 'is', null)
    .returning(columnsOf('project'))
    .executeTakeFirst();
}

/** Returns the setup steps that a project has done. */
export async function findSetupState(db: Database, projectId: string) {
  const { rows } = await sql<{
    hasSubscription: boolean;
    hasVerifiedDomain: boolean;
    contactCount: number;
    lastCampaignSentAt: Date | null;
    hasEnabledWorkflow: boolean;
  }>`
    select
      exists (select from project
        where id = ${projectId} and subscription is not null) as "hasSubscription",
      exists (select from domain
        where project_id = ${projectId} and status = 'verified') as "hasVerifiedDomain",
      (select count(*)::int from contact where project_id = ${projectId}) as "contactCount",
      (select max(sent_at) from campaign where project_id = ${projectId}) as "lastCampaignSentAt",
      exists (select from workflow
        where project_id = ${projectId} and enabled) as "hasEnabledWorkflow"`.execute(db);
  return onlyRow(rows);
}
