import { sql } from 'kysely';
import { actionOf, noEvidence, recordConsent } from '../../consent/log.ts';
import { endOptIns } from '../../consent/opt-ins.ts';
import { withinConditionTime } from '../../bounded.ts';
import { matchesFilter } from '../../contacts/contacts.ts';
import { type Database, transact } from '../../database.ts';
import { membershipSql } from '../../segments/members.ts';
import { anyOf } from '../../expressions.ts';
import {
  type JobRef,
  type JobRow,
  endJob,
  insertJob,
  lockOpenJob,
  updateJobProgress,
} from '../../jobs/jobs.ts';
import { findErased } from '../../suppression/erased.ts';
import { deleteContactHistory, deleteContacts } from './delete-contacts.ts';
import { recordEvents } from '../events/record-events.ts';
import type {
  BulkData,
  BulkOperation,
  BulkQuery,
  BulkResult,
  ContactError,
} from '../../../domain/contact/job.ts';
import { Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';

/** Maximum number of contacts in a batch, which is processed in one transaction. */
const batchSize = 1000;

interface BatchOutcome {
  success: number;
  unchanged: number;
  errors: ContactError[];
}

/**
 * Accepts a bulk action, in the caller's transaction. `causedBy`: the actor who requests the
 * action, for the consent log.
 */
export async function insertBulk(
  tx: Database,
  { projectId, jobId }: JobRef,
  action: { operation: BulkOperation; causedBy: string } & (
    | { contactIds: readonly string[] }
    | { query: BulkQuery }
  ),
): Promise<void> {
  const job = {
    id: jobId,
    projectId,
    kind: 'bulk' as const,
    causedBy: action.causedBy,
    summary: `Bulk ${action.operation}`,
  };
  const { operation } = action;
  if ('query' in action) {
    const data: BulkData = { projectId, operation, mode: 'query', totalRequested: null };
    await insertJob(tx, { ...job, data, request: action.query });
    return;
  }
  const ids = [...new Set(action.contactIds)];
  const data: BulkData = { projectId, operation, mode: 'ids', totalRequested: ids.length };
  await insertJob(tx, { ...job, data });
  await tx
    .insertInto('job_batch')
    .values({ job_id: jobId, project_id: projectId, number: 0, contact_ids: ids })
    .execute();
}

/**
 * Fixes the contacts of a job before its first batch. Contacts created later are not included. The
 * job fails if its condition takes too long.
 */
export async function startBulk(
  db: Database,
  job: JobRef,
  conditionMs: number = limits.conditionTimeMs,
): Promise<void> {
  try {
    await withinConditionTime(db, (tx) => fixContacts(tx, job), conditionMs);
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'CONDITION_TOO_HEAVY') throw error;
    const reason = error.message;
    await transact(db, async (tx) => {
      if (await lockOpenJob(tx, job)) await endJob(tx, job.jobId, { state: 'failed', reason });
    });
  }
}

async function fixContacts(tx: Database, job: JobRef): Promise<void> {
  const row = await lockOpenJob(tx, job);
  if (row?.state !== 'waiting') return;
  const given = row.data as unknown as BulkData;
  const totalRequested =
    given.totalRequested ?? (await insertMatching(tx, job, row.request as unknown as BulkQuery));
  const result: BulkResult = {
    operation: given.operation,
    totalRequested,
    successCount: 0,
    unchanged: 0,
    failureCount: 0,
    errors: [],
  };
  const data = { ...given, totalRequested };
  await updateJobProgress(tx, job.jobId, { done: 0, total: totalRequested, result, data });
  if (totalRequested === 0) await endJob(tx, job.jobId, { state: 'completed' });
}

/** Stores the currently matching contacts, in batches. Returns their number. */
async function insertMatching(
  tx: Database,
  { projectId, jobId }: JobRef,
  { filter, excludeIds }: BulkQuery,
): Promise<number> {
  const { condition, ...plain } = filter;
  const conditions = [
    matchesFilter(projectId, plain),
    ...(condition ? [await membershipSql(tx, projectId, condition, new Date())] : []),
    // PostgreSQL hashes a separate subselect, instead of comparing each contact with each id.
    ...(excludeIds.length === 0 ? [] : [sql`id not in (select unnest(${excludeIds}::uuid[]))`]),
  ];
  const { rows } = await sql<{ total: number }>`
    with batches as (
      insert into job_batch (job_id, project_id, number, contact_ids)
        select ${jobId}, ${projectId}, number, array_agg(id order by id)
          from (
            select id, (row_number() over (order by id) - 1) / ${batchSize}::int as number
              from contact where ${sql.join(conditions, sql` and `)}
          ) matching
          group by number
        returning cardinality(contact_ids) as size
    )
    select coalesce(sum(size), 0)::int as total from batches`.execute(tx);
  return rows[0]?.total ?? 0;
}

/**
 * Processes the next batch and counts it, in one transaction. Returns false when the job has ended.
 */
export async function recordBulkBatch(db: Database, job: JobRef): Promise<boolean> {
  await deleteContactHistory(db, job.projectId, await listContactsToDelete(db, job));
  return transact(db, async (tx) => {
    const row = await lockOpenJob(tx, job);
    const batch = row && (await takeBatch(tx, job.jobId));
    if (!row || !batch) return false;
    const { operation } = row.data as unknown as BulkData;
    const outcome = await applyTo(tx, row, operation, batch.contact_ids);
    await noteBatch(tx, row, batch.contact_ids.length, outcome);
    return true;
  });
}

async function listContactsToDelete(db: Database, { projectId, jobId }: JobRef): Promise<string[]> {
  const batch = await db
    .selectFrom('job_batch')
    .innerJoin('job', 'job.id', 'job_batch.job_id')
    .innerJoin('project', 'project.id', 'job.project_id')
    .select('job_batch.contact_ids')
    .where('job.id', '=', jobId)
    .where('job.project_id', '=', projectId)
    .where(sql<boolean>`job.data ->> 'operation' = 'delete'`)
    .where('project.disabled_reason', 'is', null)
    .orderBy('job_batch.number')
    .limit(1)
    .executeTakeFirst();
  return batch?.contact_ids ?? [];
}

async function takeBatch(tx: Database, jobId: string) {
  return tx
    .deleteFrom('job_batch')
    .where('job_id', '=', jobId)
    .where('number', '=', (eb) =>
      eb
        .selectFrom('job_batch')
        .select((select) => select.fn.min('number').as('number'))
        .where('job_id', '=', jobId),
    )
    .returning('contact_ids')
    .executeTakeFirst();
}

async function noteBatch(
  tx: Database,
  job: JobRow,
  size: number,
  outcome: BatchOutcome,
): Promise<void> {
  const before = job.result as unknown as BulkResult;
  const result: BulkResult = {
    ...before,
    successCount: before.successCount + outcome.success,
    unchanged: before.unchanged + outcome.unchanged,
    failureCount: before.failureCount + outcome.errors.length,
    errors: [...before.errors, ...outcome.errors].slice(0, limits.jobErrors),
  };
  const done = job.position + size;
  await updateJobProgress(tx, job.id, { done, total: result.totalRequested, result });
  if (done >= result.totalRequested) await endJob(tx, job.id, { state: 'completed' });
}

async function applyTo(
  tx: Database,
  { project_id: projectId, caused_by: actor }: JobRow,
  operation: BulkOperation,
  ids: readonly string[],
): Promise<BatchOutcome> {
  if (operation === 'delete') {
    const deleted = await deleteContacts(tx, projectId, ids);
    return { success: deleted.length, unchanged: 0, errors: missing(ids, deleted) };
  }
  const wanted = operation === 'subscribe';
  const contacts = await tx
    .selectFrom('contact')
    .select(['id', 'email', 'subscribed', 'consent'])
    .where('project_id', '=', projectId)
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  const others = contacts.filter(({ subscribed }) => subscribed !== wanted);
  const erased = wanted
    ? await findErased(
        tx,
        projectId,
        others.map(({ email }) => email),
      )
    : new Set<string>();
  const kept = others.filter(({ email }) => erased.has(email));
  const changed = others.filter(({ email }) => !erased.has(email)).map(({ id }) => id);
  await recordChanges(tx, { projectId, actor }, wanted, changed);
  const pending = wanted ? [] : contacts.filter(({ consent }) => consent === 'pending');
  const ended = pending.map(({ id: contactId, subscribed }) => ({
    contactId,
    projectId,
    source: 'bulk' as const,
    isLogged: subscribed,
  }));
  await endOptIns(tx, ended, { ...noEvidence, actor });
  const known = contacts.map(({ id }) => id);
  const success = known.length - kept.length;
  const error =
    'This person opted out before the contact was deleted. So only the person can subscribe again, ' +
    'with a link in a mail or a form.';
  return {
    success,
    unchanged: success - changed.length,
    errors: [
      ...missing(ids, known),
      ...kept.map(({ id, email }) => ({ contactId: id, email, error })),
    ],
  };
}

/**
 * Changes the subscription of contacts that the caller has locked, with events and consent lines.
 */
async function recordChanges(
  tx: Database,
  { projectId, actor }: { projectId: string; actor: string | null },
  subscribed: boolean,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx
    .updateTable('contact')
    .set({ subscribed, updated_at: sql<Date>`now()` })
    .where('id', '=', anyOf(ids))
    .execute();
  const source = 'bulk';
  const name = subscribed ? 'contact.subscribed' : 'contact.unsubscribed';
  const events = ids.map((contactId) => ({ contactId, name, data: { source }, causedBy: actor }));
  await recordEvents(tx, projectId, events, { contactsLocked: true });
  const action = actionOf(subscribed, source);
  const lines = ids.map((contactId) => ({ contactId, action, topic: null }));
  await recordConsent(tx, projectId, lines, { ...noEvidence, source, actor });
}

function missing(ids: readonly string[], known: readonly string[]): ContactError[] {
  const there = new Set(known);
  return ids
    .filter((id) => !there.has(id))
    .map((contactId) => ({
      contactId,
      email: null,
      error: 'The project has no contact with this id.',
    }));
}
