import { sql } from 'kysely';
import type { RunInputs, RunKind } from '../../domain/runs.ts';
import { columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { deleteDomains } from '../domains/domains.ts';
import { cancelJobs } from '../contacts/jobs.ts';
import { enqueue } from '../outbox/outbox.ts';
import { transact } from '../transaction.ts';

/**
 * Reset and deletion of a project. Its row is taken out of everybody's reach in one short
 * transaction; a run then removes what belongs to it, page by page. A reset project goes on in a
 * new row that takes over what is kept.
 */

/**
 * Deletes a project: keys, members and domains are gone at once. Returns the runs that must hear of
 * it once that is committed; undefined when it was gone.
 */
export async function removeProject(tx: Database, id: string): Promise<string[] | undefined> {
  const publicId = await detach(tx, id, 'delete');
  if (!publicId) return undefined;
  await tx.deleteFrom('membership').where('project_id', '=', id).execute();
  await tx.deleteFrom('invitation').where('project_id', '=', id).execute();
  const runs = [...(await stopRuns(tx, id)), ...(await deleteDomains(tx, { projectId: id }))];
  runs.push(await enqueueRun(tx, 'projectDelete', { projectId: publicId }, 'Delete a project'));
  return runs;
}

/** Tables whose rows a reset project keeps. */
export const keptOnReset = [
  'membership',
  'invitation',
  'domain',
  'suspension',
  'security_event',
  'allowance',
  'allowance_warning',
  'secret',
] as const;

/** Empties a project: all but its settings, keys, members, domains, secrets and billing. As above. */
export async function resetProject(tx: Database, id: string): Promise<string[] | undefined> {
  const before = await tx
    .selectFrom('project')
    .select(columnsOf('project'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  const publicId = await detach(tx, id, 'reset');
  if (!before || !publicId) return undefined;
  const { id: _, removal: __, ...kept } = before;
  const after = await tx
    .insertInto('project')
    .values({ ...kept, public_id: publicId, updated_at: sql<Date>`now()` })
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const table of keptOnReset) {
    await sql`update ${sql.table(table)} set project_id = ${after.id}
      where project_id = ${id}`.execute(tx);
  }
  const runs = await stopRuns(tx, id);
  runs.push(await enqueueRun(tx, 'projectReset', { projectId: publicId }, 'Reset a project'));
  return runs;
}

/** Makes a project's row unreachable. Returns the id the outside knows it by. */
async function detach(
  tx: Database,
  id: string,
  removal: 'reset' | 'delete',
): Promise<string | undefined> {
  const row = await tx
    .updateTable('project')
    .set({
      removal,
      public_id: sql<string>`coalesce(public_id, id)`,
      // No key is written like these, and none has this hash.
      public_key: sql<string>`'removed ' || id`,
      secret_key_hash: sql<Buffer>`sha256(('removed ' || id)::bytea)`,
      // Whatever still finds the row sends nothing.
      disabled_reason: sql<string>`coalesce(disabled_reason, 'MANUAL')`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .where('removal', 'is', null)
    .returning(sql<string>`public_id`.as('public_id'))
    .executeTakeFirst();
  return row?.public_id;
}

/**
 * Ends campaigns and jobs of a project that may send or write no more. Its executions are
 * cancelled by whoever calls, or removed. Returns the runs to signal.
 */
export async function stopRuns(tx: Database, projectId: string): Promise<string[]> {
  const campaigns = await tx
    .updateTable('campaign')
    .set({ status: 'CANCELLED', paused_reason: null, updated_at: sql<Date>`now()` })
    .where('project_id', '=', projectId)
    .where('status', 'in', ['SCHEDULED', 'SENDING', 'PAUSED'])
    .returning(['id', 'name'])
    .execute();
  // Their runs look at the row by themselves.
  await cancelJobs(tx, projectId);
  const runs: string[] = [];
  for (const { id, name } of campaigns) {
    runs.push(await enqueueRun(tx, 'campaignSend', { projectId, campaignId: id }, name));
  }
  return runs;
}

/** Rows of one table at a time: small enough that no lock is held for long. */
interface Page {
  table: string;
  rows: number;
  /** Where it has no `project_id` that an index finds by. */
  of?: string;
  /** Rows that cannot go yet. As long as there are any, they keep what follows. */
  later?: string;
}

/**
 * All that belongs to a project, in an order in which little cascades: what runs first, then what
 * there is most of. What is not named goes with its parent; `goneWithParent` says which.
 */
export const removedTables: readonly Page[] = [
  { table: 'execution', rows: 500 },
  // Being handed over: what the provider accepts is billed by its row. A lease ends in two minutes.
  { table: 'email', rows: 1000, later: `status = 'SENDING' and lease_until > now()` },
  { table: 'attachment', rows: 20 },
  { table: 'segment_member', rows: 5000, of: 'segment_id in (select id from segment' },
  { table: 'contact', rows: 1000 },
  { table: 'event', rows: 2000 },
  { table: 'event_tally', rows: 5000 },
  { table: 'job', rows: 10 },
  { table: 'single_mail', rows: 100 },
  { table: 'campaign', rows: 100 },
  { table: 'campaign_frame', rows: 20 },
  { table: 'segment', rows: 100 },
  { table: 'workflow', rows: 20 },
  { table: 'template', rows: 100 },
];

/** Tables whose rows go with a row of those above. */
export const goneWithParent = [
  'step_execution',
  'wait',
  'workflow_step',
  'workflow_transition',
  'workflow_version',
  'import_file',
  'job_batch',
  'campaign_content',
  'idempotency_email',
] as const;

/** The projects the outside knew by an id and whose rows are still to be removed. */
export async function listRemovals(
  db: Database,
  publicId: string,
  removal: 'reset' | 'delete',
): Promise<string[]> {
  const rows = await db
    .selectFrom('project')
    .select('id')
    .where(sql<boolean>`coalesce(public_id, id) = ${publicId}`)
    .where('removal', '=', removal)
    .orderBy('id')
    .execute();
  return rows.map((row) => row.id);
}

/**
 * Deletes one page of what belongs to a project. Returns how many rows, and whether there are no
 * more; none and more: what is left cannot go yet, for two minutes at most.
 */
export async function deleteProjectPage(
  db: Database,
  projectId: string,
): Promise<{ deleted: number; isOver: boolean }> {
  for (const { table, rows, of, later } of removedTables) {
    const mine = of
      ? sql`${sql.raw(of)} where project_id = ${projectId})`
      : sql`project_id = ${projectId}`;
    const isLater = sql`(${sql.raw(later ?? 'false')})`;
    // Asked of the row as well, which may have changed since it was found.
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)}
        where not ${isLater} and ctid = any (array(
          select ctid from ${sql.table(table)} where ${mine} and not ${isLater} limit ${rows}))`.execute(
      db,
    );
    if (numAffectedRows) return { deleted: Number(numAffectedRows), isOver: false };
    if (!later) continue;
    const left = await sql`
      select from ${sql.table(table)} where ${mine} and ${isLater} limit 1`.execute(db);
    if (left.rows.length > 0) return { deleted: 0, isOver: false };
  }
  const owned = await sql`delete from idempotency where owner_id = ${projectId}`.execute(db);
  const deleted = Number(owned.numAffectedRows ?? 0);
  return { deleted, isOver: deleted === 0 };
}

/** Runs of deleted executions that Temporal has not been told to stop. */
export async function listOrphanRuns(
  db: Database,
  projectId: string,
  max: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('orphan_run')
    .select('execution_id')
    .where('project_id', '=', projectId)
    .limit(max)
    .execute();
  return rows.map((row) => row.execution_id);
}

/**
 * Runs that are asked for in the name of a project and outlive it: the one that removes it may be
 * once more; that of a domain goes on after a reset, and else has the mail provider forget it.
 */
const signalsThatStay: readonly RunKind[] = ['projectReset', 'projectDelete', 'domainPoller'];

/** Removes the last of a project, its row. */
export async function deleteRemovedProject(db: Database, id: string): Promise<void> {
  await transact(db, async (tx) => {
    for (const table of [...keptOnReset, 'run_wake'] as const) {
      const others =
        table === 'run_wake' ? sql`and kind <> all(${signalsThatStay}::text[])` : sql``;
      await sql`delete from ${sql.table(table)} where project_id = ${id} ${others}`.execute(tx);
    }
    await tx.deleteFrom('token_bucket').where('key', '=', `project ${id}`).execute();
    await tx.deleteFrom('rate_limit').where('key', '=', `project:${id}`).execute();
    await tx.deleteFrom('project').where('id', '=', id).where('removal', 'is not', null).execute();
  });
}

function enqueueRun<K extends RunKind>(
  tx: Database,
  kind: K,
  input: RunInputs[K],
  summary: string,
): Promise<string> {
  return enqueue(tx, { kind, input, summary });
}
