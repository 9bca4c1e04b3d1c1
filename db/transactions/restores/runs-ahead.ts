import { sql } from 'kysely';
import { type Database, transact } from '../../database.ts';

/**
 * After a restore of the database, runs may be ahead of their rows. All executions of before are
 * compared with their runs: those whose run has ended end with it.
 */

/** Maximum number of executions that one transaction reads. */
const pageSize = 1_000;

/** Makes a page of executions due for reconciliation. Returns true if it was the last one. */
export async function hurryPage(db: Database, restoreId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ last: string | null; count: number; hurried: number }>`
      with done as (
        select repaired_to_id, held_before from restore where id = ${restoreId} for update
      ), page as materialized (
        select execution.id, status, started_at < done.held_before as is_before from execution, done
          where execution.id > done.repaired_to_id order by execution.id limit ${pageSize}
      ), hurried as (
        update execution set next_reconcile_at = least(next_reconcile_at, now()) from page
          where execution.id = page.id and page.is_before and page.status in ('RUNNING', 'WAITING')
          returning execution.id
      )
      select max(id::text) as last, count(*)::int as count,
          (select count(*)::int from hurried) as hurried from page`.execute(tx);
    const [page] = rows;
    await sql`
      update restore set repaired_to_id = coalesce(${page?.last ?? null}::uuid, repaired_to_id),
          checked = checked + ${page?.hurried ?? 0}
        where id = ${restoreId}`.execute(tx);
    return (page?.count ?? 0) < pageSize;
  });
}

/**
 * Records those of these executions that the restored database does not have. Returns their ids: their
 * runs have no row.
 */
export async function recordLost(
  db: Database,
  restoreId: string,
  executionIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with lost as (
      select id from unnest(${executionIds}::uuid[]) as started(id)
        where not exists (select from execution where execution.id = started.id)
    ), recorded as (
      insert into restore_loss (restore_id, kind, id)
        select ${restoreId}, 'execution', id from lost on conflict do nothing
    )
    select id from lost`.execute(db);
  return rows.map(({ id }) => id);
}

/** Returns true once all executions of before are compared with their runs. */
export async function areCompared(db: Database, restoreId: string): Promise<boolean> {
  const { rows } = await sql`
    select from execution, restore where restore.id = ${restoreId}
        and status in ('RUNNING', 'WAITING') and next_reconcile_at <= now()
        and started_at < restore.held_before
      limit 1`.execute(db);
  return rows.length === 0;
}
