import { sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import {
  type DomainOfRun,
  type DomainRow,
  isComplete,
  signalPoller,
} from '../../domains/domains.ts';
import { isBeingForgotten, lockDomainName } from '../../domains/ses-identities.ts';
import { holdProject } from '../../projects/projects.ts';

/**
 * Maximum time to register a domain at the mail provider. An older row that is not registered
 * belongs to a dead process.
 */
const registeringMax = sql`interval '2 minutes'`;

export type NewClaim = DomainOfRun & Pick<DomainRow, 'ownership_token'>;

/**
 * Inserts a domain for a project, as not registered yet. Returns `taken` when the project has the
 * domain already or another project holds the name, and `releasing` while the mail provider is
 * removing the name, which takes a moment. `completeDomain` then registers the row, or
 * `abandonDomain` removes it. If neither happens within `registeringMax`, the domain's run removes
 * the row.
 */
export async function insertDomain(
  db: Database,
  { projectId, name }: { projectId: string; name: string },
): Promise<NewClaim | 'taken' | 'releasing'> {
  return transact(db, async (tx) => {
    await holdProject(tx, projectId);
    await lockDomainName(tx, name);
    if (await isBeingForgotten(tx, name)) return 'releasing';
    await tx
      .deleteFrom('domain')
      .where('project_id', '=', projectId)
      .where('name', '=', name)
      .where(sql<boolean>`not ${isComplete} and created_at < now() - ${registeringMax}`)
      .execute();
    const taken = await tx
      .selectFrom('domain')
      .select('id')
      .where('name', '=', name)
      .where((row) => row.or([row('project_id', '=', projectId), row('status', '=', 'verified')]))
      .executeTakeFirst();
    if (taken) return 'taken';
    const row = await tx
      .insertInto('domain')
      .values({
        project_id: projectId,
        name,
        dkim_tokens: [],
        is_registered: false,
        next_check_at: sql<Date>`now() + ${registeringMax}`,
      })
      .returning(['id', 'project_id', 'name', 'ownership_token'])
      .executeTakeFirstOrThrow();
    await signalPoller(tx, row);
    return row;
  });
}
