import type { Selectable } from 'kysely';
import { sql } from 'kysely';
import {
  checkEveryMs,
  type DomainFinding,
  type DomainStatus,
  stateAfterCheck,
} from '../domain/domain-check.ts';
import { columnsOf } from './columns.ts';
import type { Database } from './database.ts';
import { millisecondsUntil } from './instants.ts';
import { holdProject } from './projects.ts';
import { insertRunWake } from './run-wakes.ts';
import type { Domain } from './tables.ts';
import { transact } from './transaction.ts';

export type DomainRow = Omit<Selectable<Domain>, 'status' | 'record_statuses'> & {
  status: DomainStatus;
  /** Found state of each DNS record, by the record's type and name. */
  record_statuses: Record<string, DomainStatus>;
};

/** A domain without tokens is still being registered. */
const isComplete = sql<boolean>`dkim_tokens <> '{}'`;

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
    .select(columnsOf('domain'))
    .where('project_id', '=', projectId)
    .where(isComplete)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return rows as DomainRow[];
}

/** A domain of any project; undefined while it is still being registered. */
export async function findDomain(db: Database, id: string): Promise<DomainRow | undefined> {
  const row = await db
    .selectFrom('domain')
    .select(columnsOf('domain'))
    .where('id', '=', id)
    .where(isComplete)
    .executeTakeFirst();
  return row as DomainRow | undefined;
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
  return transact(db, async (tx) => {
    await holdProject(tx, domain.projectId);
    await lockName(tx, domain.name);
    return tx
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
  });
}

/** Until the transaction ends, nobody else takes this name or has the mail provider forget it. */
async function lockName(tx: Database, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`domain ${name}`}, 0))`.execute(tx);
}

/** Does something about a name that belongs to nobody; nothing when somebody has it. */
export async function withFreeName(
  db: Database,
  name: string,
  work: () => Promise<void>,
): Promise<void> {
  await transact(db, async (tx) => {
    await lockName(tx, name);
    const row = await tx
      .selectFrom('domain')
      .select('id')
      .where('name', '=', name)
      .executeTakeFirst();
    if (!row) await work();
  });
}

/**
 * Completes a new domain and asks for its run; undefined when it is gone. `verified`: there is
 * nothing to check.
 */
export async function updateDomainTokens(
  tx: Database,
  id: string,
  domain: {
    dkimTokens: string[];
    recordStatuses: Record<string, DomainStatus>;
    verified: boolean;
  },
): Promise<{ row: DomainRow; runId: string } | undefined> {
  const row = await tx
    .updateTable('domain')
    .set({
      dkim_tokens: domain.dkimTokens,
      record_statuses: JSON.stringify(domain.recordStatuses),
      status: domain.verified ? 'verified' : 'pending',
      verified_at: domain.verified ? sql<Date>`now()` : null,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('domain'))
    .executeTakeFirst();
  return row && { row: row as DomainRow, runId: await wakePoller(tx, row) };
}

function wakePoller(
  tx: Database,
  { id, project_id, name }: Pick<DomainRow, 'id' | 'project_id' | 'name'>,
): Promise<string> {
  return insertRunWake(tx, {
    kind: 'domainPoller',
    input: { projectId: project_id, domainId: id, name },
    summary: 'Checks of a sender domain',
  });
}

/**
 * Notes what a check has found. `isScheduled`: only when the regular check is due, so that one
 * that is repeated counts once. Undefined when the domain is gone; `runId` when its run has to
 * look at it again.
 */
export async function recordDomainCheck(
  db: Database,
  id: string,
  { recordStatuses, dkimValid }: DomainFinding,
  { isScheduled }: { isScheduled: boolean },
): Promise<{ row: DomainRow; runId: string | null } | undefined> {
  return transact(db, async (tx) => {
    const before = await tx
      .selectFrom('domain')
      .select(columnsOf('domain'))
      .select(sql<Date>`now()`.as('now'))
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (!before) return undefined;
    const { now, ...unchanged } = before;
    const isDue = before.next_check_at !== null && before.next_check_at <= now;
    if (isScheduled && !isDue) return { row: unchanged as DomainRow, runId: null };
    const domain = {
      status: before.status as DomainStatus,
      failedChecks: before.failed_checks,
      createdAt: before.created_at,
    };
    const { status, failedChecks } = stateAfterCheck(domain, { dkimValid, isScheduled, now });
    const next = status === 'failed' ? null : new Date(now.getTime() + checkEveryMs[status]);
    const row = (await tx
      .updateTable('domain')
      .set({
        status,
        failed_checks: failedChecks,
        record_statuses: sql`record_statuses || ${JSON.stringify(recordStatuses)}::jsonb`,
        last_checked_at: now,
        ...(isScheduled || status !== before.status ? { next_check_at: next } : {}),
        ...(status === 'verified' && before.status !== 'verified' ? { verified_at: now } : {}),
        updated_at: now,
      })
      .where('id', '=', id)
      .returning(columnsOf('domain'))
      .executeTakeFirstOrThrow()) as DomainRow;
    // A failed domain is not looked at; once it is verified, it is again.
    const isBack = before.status === 'failed' && status === 'verified';
    return { row, runId: isBack ? await wakePoller(tx, row) : null };
  });
}

/** Puts a regular check off that could not be made: who had to be asked did not answer. */
export async function postponeDomainCheck(db: Database, id: string): Promise<void> {
  await db
    .updateTable('domain')
    .set({ next_check_at: sql<Date>`now() + interval '5 minutes'` })
    .where('id', '=', id)
    .where('next_check_at', '<=', sql<Date>`now()`)
    .execute();
}

/** When the regular check of a domain is due, in milliseconds from now; undefined when it is gone. */
export async function findDomainDue(
  db: Database,
  id: string,
): Promise<{ status: DomainStatus; dueMs: number | null } | undefined> {
  const row = await db
    .selectFrom('domain')
    .select('status')
    .select(millisecondsUntil(sql`next_check_at`).as('dueMs'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row && { status: row.status as DomainStatus, dueMs: row.dueMs };
}

/** What sends from a domain: templates, and campaigns that may still send. */
export async function listDomainUsers(
  db: Database,
  { project_id, name }: DomainRow,
): Promise<{
  templates: { id: string; name: string }[];
  campaigns: { id: string; name: string }[];
}> {
  const usersIn = (table: 'template' | 'campaign') =>
    db
      .selectFrom(table)
      .select(['id', 'name'])
      .where('project_id', '=', project_id)
      .where(sql<boolean>`split_part(from_email, '@', 2) = ${name}`)
      .orderBy('created_at')
      .orderBy('id');
  const [templates, campaigns] = await Promise.all([
    usersIn('template').execute(),
    usersIn('campaign')
      .where('status', 'in', ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED'])
      .execute(),
  ]);
  return { templates, campaigns };
}

/** Removes a domain that was never completed. */
export async function deleteDomain(db: Database, id: string): Promise<void> {
  await db.deleteFrom('domain').where('id', '=', id).execute();
}

/**
 * Removes domains: one, or all of a project. Answers the runs to be told; they end, and have the
 * mail provider forget the names.
 */
export async function deleteDomains(
  tx: Database,
  which: { id: string } | { projectId: string },
): Promise<string[]> {
  const rows = await tx
    .deleteFrom('domain')
    .where('id' in which ? 'id' : 'project_id', '=', 'id' in which ? which.id : which.projectId)
    .returning(['id', 'project_id', 'name'])
    .execute();
  const runIds: string[] = [];
  for (const row of rows) runIds.push(await wakePoller(tx, row));
  return runIds;
}
