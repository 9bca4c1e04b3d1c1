import { sql } from 'kysely';
import { limits } from '../../domain/limits.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { pinnedParts } from '../sql/pinned-versions.ts';
import { holdProject } from './projects.ts';
import { stepTypesWith } from '../../domain/workflow/steps/registry.ts';

/** A use of a secret: in a step, or in the headers of an event subscription. */
export type SecretUse = { workflowId: string; stepId: string } | { subscriptionId: string };

type NamedUse = { name: string; use: SecretUse };

export interface SecretEntry {
  name: string;
  /** Only requests to these hosts get the secret; null: requests to any host. */
  hosts: string[] | null;
  updatedAt: Date;
  usedIn: SecretUse[];
}

/** Lists the secrets of a project by name, with their uses; never the values. */
export async function listSecrets(db: Database, projectId: string): Promise<SecretEntry[]> {
  const rows = await db
    .selectFrom('secret')
    .select(['name', 'hosts', 'updated_at'])
    .where('project_id', '=', projectId)
    .orderBy(sql`name collate "C"`)
    .execute();
  const uses = rows.length === 0 ? [] : await listUses(db, projectId);
  return rows.map(({ name, hosts, updated_at }) => ({
    name,
    hosts,
    updatedAt: updated_at,
    usedIn: usesOf(name, uses),
  }));
}

/** Returns the hosts to which each secret may be sent, by name; null: any host. */
export async function listSecretHosts(
  db: Database,
  projectId: string,
): Promise<Map<string, string[] | null>> {
  const rows = await db
    .selectFrom('secret')
    .select(['name', 'hosts'])
    .where('project_id', '=', projectId)
    .execute();
  return new Map(rows.map(({ name, hosts }) => [name, hosts]));
}

export async function listSecretNames(db: Database, projectId: string): Promise<string[]> {
  const query = db.selectFrom('secret').select('name').where('project_id', '=', projectId);
  return (await query.execute()).map(({ name }) => name);
}

/** A secret with its encrypted value. */
export interface SealedSecret {
  name: string;
  /** Only requests to these hosts get the secret; null: requests to any host. */
  hosts: string[] | null;
  value: Buffer;
}

/** Returns the secrets of a project, by name; names without a secret are left out. */
export async function findSecrets(
  db: Database,
  projectId: string,
  names: readonly string[],
): Promise<SealedSecret[]> {
  return db
    .selectFrom('secret')
    .select(['name', 'value', 'hosts'])
    .where('project_id', '=', projectId)
    .where('name', '=', anyOf(names, 'text'))
    .execute();
}

/**
 * Sets a secret. Without `hosts`, its hosts do not change. Returns false when the secret is new and
 * the project already has the maximum number.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function recordSecret(
  tx: Database,
  projectId: string,
  secret: { name: string; value: Buffer; hosts?: string[] | null },
): Promise<boolean> {
  const { name, ...given } = secret;
  await holdProject(tx, projectId);
  await lockSecrets(tx, projectId);
  const { others } = await tx
    .selectFrom('secret')
    .select(sql<number>`count(*)::int`.as('others'))
    .where('project_id', '=', projectId)
    .where('name', '<>', name)
    .executeTakeFirstOrThrow();
  if (others >= limits.secrets) return false;
  await tx
    .insertInto('secret')
    .values({ project_id: projectId, ...secret })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'name'])
        .doUpdateSet({ ...given, updated_at: sql<Date>`now()` }),
    )
    .execute();
  return true;
}

/**
 * Deletes a secret that is not used. Returns the uses of the secret: if there are any, the secret
 * is not deleted. Returns null when there is no such secret.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function deleteSecret(
  tx: Database,
  projectId: string,
  name: string,
): Promise<SecretUse[] | null> {
  await holdProject(tx, projectId);
  await lockSecrets(tx, projectId);
  const [known] = await findSecrets(tx, projectId, [name]);
  if (!known) return null;
  const uses = usesOf(name, await listUses(tx, projectId));
  if (uses.length > 0) return uses;
  await tx
    .deleteFrom('secret')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .execute();
  return [];
}

/**
 * Locks the secrets of a project, so that changes of secrets, and of objects that refer to them,
 * run one after the other: each change must see the others.
 */
export async function lockSecrets(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`secret ${projectId}`}, 0))`.execute(
    tx,
  );
}

function usesOf(name: string, uses: readonly NamedUse[]): SecretUse[] {
  return uses.filter((one) => one.name === name).map(({ use }) => use);
}

const typesWithSecrets = stepTypesWith(({ address }) => address);

/**
 * Lists every use of a secret in the steps of a project (as currently edited, or in a version with
 * active executions), oldest step first, and then in its event subscriptions. The index
 * `workflow_step_secret` finds the steps that may use one, so other steps are not read.
 */
async function listUses(db: Database, projectId: string): Promise<NamedUse[]> {
  const steps = await sql<{ workflowId: string; stepId: string; name: string }>`
    with step as (
      select workflow_id, id, config::text as config from workflow_step
        where project_id = ${projectId} and type = ${anyOf(typesWithSecrets, 'text')}
          and config::text like '%secret.%'
      union
      select workflow_id, (step ->> 'id')::uuid, (step -> 'config')::text
        from ${pinnedParts(projectId)}
        where step ->> 'type' = ${anyOf(typesWithSecrets, 'text')} and step::text like '%secret.%'
    )
    select distinct step.workflow_id as "workflowId", step.id as "stepId", named[1] as name
      from step,
        regexp_matches(step.config, '\\{\\{[^{}]*\\msecret\\.([A-Z][A-Z0-9_]{0,63})\\M', 'g') named
      order by step.id, named[1]`.execute(db);
  const subscriptions = await sql<{ subscriptionId: string; name: string }>`
    select id as "subscriptionId", unnest(secret_names) as name from event_subscription
      where project_id = ${projectId} order by created_at, id`.execute(db);
  return [...steps.rows, ...subscriptions.rows].map(({ name, ...use }) => ({ name, use }));
}
