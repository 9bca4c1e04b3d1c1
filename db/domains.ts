import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { Domain } from './tables.ts';

export type DomainStatus = 'pending' | 'verified' | 'failed';

export type DomainRow = Omit<Selectable<Domain>, 'status' | 'record_statuses'> & {
  status: DomainStatus;
  /** Found state of each DNS record, by the record's type and name. */
  record_statuses: Record<string, DomainStatus>;
};

/** Whether a project may send from a domain. */
export async function findSenderDomain(
  db: Database,
  projectId: string,
  name: string,
): Promise<{ status: DomainStatus } | undefined> {
  const row = await db
    .selectFrom('domain')
    .select('status')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst();
  return row as { status: DomainStatus } | undefined;
}

/** The domains of a project, newest first. */
export async function listDomains(db: Database, projectId: string): Promise<DomainRow[]> {
  const rows = await db
    .selectFrom('domain')
    .selectAll()
    .where('project_id', '=', projectId)
    .where(sql<boolean>`dkim_tokens <> '{}'`)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return rows as DomainRow[];
}

/**
 * Takes a name for a project, or answers undefined when it is taken on this server. The row has
 * no tokens yet: `updateDomainTokens` completes it, `deleteDomain` gives the name back. A row
 * that nobody completed within two minutes (its process died) does not hold the name.
 */
export async function insertDomain(
  db: Database,
  domain: { projectId: string; name: string },
): Promise<{ id: string } | undefined> {
  return db
    .insertInto('domain')
    .values({ project_id: domain.projectId, name: domain.name, dkim_tokens: [] })
    .onConflict((conflict) =>
      conflict
        .column('name')
        .doUpdateSet({
          id: (row) => row.ref('excluded.id'),
          project_id: (row) => row.ref('excluded.project_id'),
          created_at: (row) => row.ref('excluded.created_at'),
        })
        .where(
          sql<boolean>`domain.dkim_tokens = '{}' and domain.created_at < now() - interval '2 minutes'`,
        ),
    )
    .returning('id')
    .executeTakeFirst();
}

/** Completes a new domain; undefined when it is gone. `verified`: there is nothing to check. */
export async function updateDomainTokens(
  db: Database,
  id: string,
  domain: {
    dkimTokens: string[];
    recordStatuses: Record<string, DomainStatus>;
    verified: boolean;
  },
): Promise<DomainRow | undefined> {
  const row = await db
    .updateTable('domain')
    .set({
      dkim_tokens: domain.dkimTokens,
      record_statuses: JSON.stringify(domain.recordStatuses),
      status: domain.verified ? 'verified' : 'pending',
      verified_at: domain.verified ? sql<Date>`now()` : null,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row as DomainRow | undefined;
}

export async function deleteDomain(db: Database, id: string): Promise<void> {
  await db.deleteFrom('domain').where('id', '=', id).execute();
}
