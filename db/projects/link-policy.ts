import { type Selectable, sql } from 'kysely';
import { notFound } from '../../domain/errors.ts';
import type { UtmValues } from '../../domain/links/utm.ts';
import type { Database } from '../database.ts';
import type { Project } from '../tables.ts';
import { lockProject } from './projects.ts';

export interface LinkPolicy {
  /** UTM parameters of the links in mail; null: none. */
  utm: UtmValues | null;
  /** Only links to these hosts get the UTM parameters; empty: links to any host. */
  utmHosts: string[];
}

/** A stored policy. `updatedAt` null: the project has set none. */
export type StoredLinkPolicy = LinkPolicy & { updatedAt: Date | null };

/**
 * Reads the link policy of a project.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function readLinkPolicy(db: Database, projectId: string): Promise<StoredLinkPolicy> {
  const row = await db
    .selectFrom('project')
    .select(['utm', 'utm_hosts', 'link_policy_at'])
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .executeTakeFirst();
  if (!row) throw notFound('PROJECT', projectId);
  return policyOf(row);
}

/**
 * Changes the link policy of a project, in the caller's transaction. Absent fields keep their
 * values. Returns the policy before and after the change.
 * @throws Problem PROJECT_NOT_FOUND
 */
export async function updateLinkPolicy(
  tx: Database,
  projectId: string,
  { utm, utmHosts }: { [K in keyof LinkPolicy]?: LinkPolicy[K] | undefined },
): Promise<{ before: StoredLinkPolicy; after: StoredLinkPolicy }> {
  const project = await lockProject(tx, projectId);
  if (!project) throw notFound('PROJECT', projectId);
  await tx
    .updateTable('project')
    .set({
      ...(utm === undefined ? {} : { utm: utm && JSON.stringify(utm) }),
      ...(utmHosts === undefined ? {} : { utm_hosts: utmHosts }),
      link_policy_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', projectId)
    .execute();
  return { before: policyOf(project), after: await readLinkPolicy(tx, projectId) };
}

function policyOf(
  row: Pick<Selectable<Project>, 'utm' | 'utm_hosts' | 'link_policy_at'>,
): StoredLinkPolicy {
  return {
    utm: row.utm as UtmValues | null,
    utmHosts: row.utm_hosts,
    updatedAt: row.link_policy_at,
  };
}
