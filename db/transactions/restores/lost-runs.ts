import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { signalPoller } from '../../domains/domains.ts';
import { enqueueExecutions, signalCampaign } from '../../outbox/outbox.ts';

/**
 * Requests that runs which Temporal has lost are started again. The runs of executions are started
 * in the order in which the executions are due.
 */

/** Maximum number of rows that one transaction reads. */
const pageSize = 500;

/**
 * Requests starts for a page of active executions. If the run of an execution is open, the start
 * only signals this run. Returns true if it was the last page.
 */
export async function restartPage(db: Database, restoreId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ id: string; project_id: string; at: string }>`
      select execution.id, project_id, next_reconcile_at::text as at
        from execution, (select repaired_to, repaired_to_id from restore
          where id = ${restoreId} for update) done
        where status in ('RUNNING', 'WAITING')
          and next_reconcile_at >= done.repaired_to
          and (next_reconcile_at, execution.id) > (done.repaired_to, done.repaired_to_id)
        order by next_reconcile_at, execution.id limit ${pageSize}`.execute(tx);
    await enqueueExecutions(tx, 'start', rows);
    const last = rows.at(-1);
    if (last) {
      await sql`
        update restore set repaired_to = ${last.at}::timestamptz, repaired_to_id = ${last.id},
            restarted = restarted + ${rows.length}
          where id = ${restoreId}`.execute(tx);
    }
    return rows.length < pageSize;
  });
}

/** Number of waiting requests in the outbox from which on no further page is added. */
const waitingMax = 2_000;

/** Returns true if fewer than `waitingMax` requests wait in the outbox. */
export async function mayRestartMore(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (select from outbox limit ${waitingMax}) waiting`.execute(
    db,
  );
  return (rows[0]?.count ?? 0) < waitingMax;
}

/**
 * Makes all runs of open work due for a signal: the runs of jobs, removals, erasures, opt-in
 * requests, ramps, event subscriptions and single mails. The sweep then signals these runs, which
 * starts them if they are lost. Signals the runs of campaigns and domains itself. Returns the
 * number of runs.
 */
export async function hurryRuns(db: Database): Promise<number> {
  let count = 0;
  for (const [table, column, isOpen] of work) {
    const due = sql.ref(column);
    const where = sql`${isOpen} and coalesce(${due}, 'infinity') > now() - interval '1 hour'`;
    const page = sql`
      update ${sql.table(table)} set ${due} = now() - interval '1 hour'
        where id in (select id from ${sql.table(table)} where ${where} limit ${pageSize}
          for update skip locked)`;
    count += await pages(async () => Number((await page.execute(db)).numAffectedRows ?? 0n));
  }
  const isSending = sql`status in ('SCHEDULED', 'SENDING')`;
  count += await signalAll(db, { table: 'campaign', isOpen: isSending }, signalCampaign);
  count += await signalAll(db, { table: 'domain', isOpen: sql`true` }, signalPoller);
  return count;
}

/**
 * Open work by table: the column by which the sweep finds lost runs, and the condition on open
 * rows.
 */
const work: readonly [table: string, column: string, isOpen: RawBuilder<unknown>][] = [
  ['job', 'touched_at', sql`state in ('waiting', 'active')`],
  ['project', 'next_reconcile_at', sql`removal is not null`],
  ['erasure', 'touched_at', sql`state <> 'completed'`],
  ['opt_in', 'next_reconcile_at', sql`state = 'pending'`],
  ['ramp', 'reconcile_at', sql`reconcile_at is not null`],
  ['event_subscription', 'next_reconcile_at', sql`true`],
  ['system_mail', 'next_reconcile_at', sql`true`],
];

async function pages(next: () => Promise<number>): Promise<number> {
  let sum = 0;
  for (;;) {
    const count = await next();
    sum += count;
    if (count < pageSize) return sum;
  }
}

type NamedRow = { id: string; project_id: string; name: string };

async function signalAll(
  db: Database,
  { table, isOpen }: { table: 'campaign' | 'domain'; isOpen: RawBuilder<unknown> },
  signal: (tx: Database, row: NamedRow) => Promise<void>,
): Promise<number> {
  let last = '00000000-0000-0000-0000-000000000000';
  return pages(() =>
    transact(db, async (tx) => {
      const { rows } = await sql<NamedRow>`
        select id, project_id, name from ${sql.table(table)}
          where id > ${last} and ${isOpen} order by id limit ${pageSize}`.execute(tx);
      for (const row of rows) await signal(tx, row);
      last = rows.at(-1)?.id ?? last;
      return rows.length;
    }),
  );
}
