import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Role } from '../domain/roles.ts';
import type { Database } from './database.ts';
import type { Project } from './tables.ts';

/** A project as one of its members sees it. */
export type MemberProjectRow = Selectable<Project> & { role: Role };

interface ProjectState {
  id: string;
  disabledReason: string | null;
}

/** The keys of a project in the form in which they are stored. */
export interface StoredKeys {
  publicKey: string;
  secretKeyHash: Buffer;
  secretKeyLast4: string;
}

export async function findProject(
  db: Database,
  id: string,
): Promise<Selectable<Project> | undefined> {
  return db.selectFrom('project').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The project of a key. Asked on every request, so that a replaced key is dead at once. */
export async function findProjectByKey(
  db: Database,
  key: { secretKeyHash: Buffer } | { publicKey: string },
): Promise<ProjectState | undefined> {
  const query = db.selectFrom('project').select(['id', 'disabled_reason as disabledReason']);
  return 'publicKey' in key
    ? query.where('public_key', '=', key.publicKey).executeTakeFirst()
    : query.where('secret_key_hash', '=', key.secretKeyHash).executeTakeFirst();
}

/** What a user may do in a project; undefined for strangers and for unknown projects. */
export async function findMembership(
  db: Database,
  projectId: string,
  userId: string,
): Promise<{ project: ProjectState; role: Role } | undefined> {
  const row = await db
    .selectFrom('membership')
    .innerJoin('project', 'project.id', 'membership.project_id')
    .select(['project.id', 'project.disabled_reason as disabledReason', 'membership.role'])
    .where('membership.project_id', '=', projectId)
    .where('membership.user_id', '=', userId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { role, ...project } = row;
  return { project, role: role as Role };
}

/** The projects a user is a member of, oldest first. */
export async function listProjects(db: Database, userId: string): Promise<MemberProjectRow[]> {
  const rows = await db
    .selectFrom('membership')
    .innerJoin('project', 'project.id', 'membership.project_id')
    .selectAll('project')
    .select('membership.role')
    .where('membership.user_id', '=', userId)
    .orderBy('project.created_at')
    .orderBy('project.id')
    .execute();
  return rows as MemberProjectRow[];
}

/** Makes a project with its owner, both or neither. */
export async function insertProject(
  db: Database,
  project: StoredKeys & { name: string; webhookSigningSecret: Buffer; ownerId: string },
): Promise<MemberProjectRow> {
  const row = await db
    .with('made', (query) =>
      query
        .insertInto('project')
        .values({
          name: project.name,
          ...keyColumns(project),
          webhook_signing_secret: project.webhookSigningSecret,
        })
        .returningAll(),
    )
    .with('owned', (query) =>
      query
        .insertInto('membership')
        .columns(['project_id', 'user_id', 'role'])
        .expression((from) =>
          from
            .selectFrom('made')
            .select(['made.id', sql<string>`${project.ownerId}::uuid`.as('user_id')])
            .select(sql<string>`'OWNER'`.as('role')),
        ),
    )
    .selectFrom('made')
    .selectAll()
    .executeTakeFirstOrThrow();
  return { ...row, role: 'OWNER' };
}

/** Replaces both keys; undefined when the project is gone. */
export async function updateProjectKeys(
  db: Database,
  projectId: string,
  keys: StoredKeys,
): Promise<Selectable<Project> | undefined> {
  return db
    .updateTable('project')
    .set({ ...keyColumns(keys), updated_at: sql<Date>`now()` })
    .where('id', '=', projectId)
    .returningAll()
    .executeTakeFirst();
}

function keyColumns(keys: StoredKeys) {
  return {
    public_key: keys.publicKey,
    secret_key_hash: keys.secretKeyHash,
    secret_key_last4: keys.secretKeyLast4,
  };
}
