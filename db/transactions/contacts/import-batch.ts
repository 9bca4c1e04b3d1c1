import { sql } from 'kysely';
import { actionOf, type ConsentOrigin, noEvidence, recordConsent } from '../../consent/log.ts';
import { endOptIns } from '../../consent/opt-ins.ts';
import { type Database, transact } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import {
  type JobRef,
  type JobRow,
  endJob,
  insertJob,
  lockOpenJob,
  updateJobProgress,
} from '../../jobs/jobs.ts';
import { hasAddressKey } from '../../sql/mail-claims.ts';
import { findErased, type MadeContact, unsubscribeErased } from '../../suppression/erased.ts';
import { recordEvents } from '../events/record-events.ts';
import type { ImportRow } from '../../../domain/contact/csv.ts';
import { contactDataFault, jsonBytes } from '../../../domain/contact/data.ts';
import type { ImportData, ImportResult, RowError } from '../../../domain/contact/job.ts';
import { limits } from '../../../domain/limits.ts';

/** Bytes of the file that are read at once. The rows in them are imported in one transaction. */
const pieceBytes = 128 * 1024;

interface RowsOutcome {
  created: number;
  updated: number;
  errors: RowError[];
}

interface LockedContact {
  id: string;
  email: string;
  subscribed: boolean;
  consent: string | null;
  /**
   * Bytes of the contact's data as text of `jsonb`. Compact JSON has fewer bytes, because this text
   * contains spaces.
   */
  bytes: number;
  keys: number;
}

/**
 * Accepts a file for import, in the caller's transaction. `causedBy`: the actor who requests the
 * import, for the consent log.
 */
export async function insertImport(
  tx: Database,
  { projectId, jobId }: JobRef,
  { causedBy, ...file }: { causedBy: string; filename: string; content: Buffer },
): Promise<void> {
  const data: ImportData = { projectId, filename: file.filename, totalRows: null };
  const summary = 'Contact import';
  await insertJob(tx, { id: jobId, projectId, kind: 'import', causedBy, data, summary });
  await tx
    .insertInto('import_file')
    .values({ job_id: jobId, project_id: projectId, content: file.content })
    .execute();
}

/** Reads the file of an open import in chunks, so that memory never holds all of it. */
export async function* readImportFile(
  db: Database,
  { jobId }: JobRef,
): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 1; ; at += pieceBytes) {
    const row = await db
      .selectFrom('import_file')
      .select(sql<Buffer>`substring(content from ${at}::int for ${pieceBytes}::int)`.as('piece'))
      .where('job_id', '=', jobId)
      .executeTakeFirst();
    // The file is read to its end, or was deleted when the job ended.
    if (!row || row.piece.length === 0) return;
    yield row.piece;
  }
}

/**
 * Starts the import of a valid file: the job becomes active, or complete if the file has no rows.
 */
export async function startImport(db: Database, job: JobRef, totalRows: number): Promise<void> {
  await transact(db, async (tx) => {
    const row = await lockOpenJob(tx, job);
    if (row?.state !== 'waiting') return;
    const result: ImportResult = {
      totalRows,
      successCount: 0,
      createdCount: 0,
      updatedCount: 0,
      failureCount: 0,
      errors: [],
    };
    const data = { ...(row.data as unknown as ImportData), totalRows };
    await updateJobProgress(tx, job.jobId, { done: 0, total: totalRows, result, data });
    if (totalRows === 0) await endJob(tx, job.jobId, { state: 'completed' });
  });
}

export async function failImport(db: Database, job: JobRef, reason: string): Promise<void> {
  await transact(db, async (tx) => {
    if (await lockOpenJob(tx, job)) await endJob(tx, job.jobId, { state: 'failed', reason });
  });
}

/**
 * Imports the rows that follow the first `position` rows of the file, and counts them, in one
 * transaction. Returns false when they must not be imported: the job has ended, or they are done
 * already.
 */
export async function recordImportBatch(
  db: Database,
  job: JobRef,
  batch: { position: number; rows: readonly (ImportRow | RowError)[] },
): Promise<boolean> {
  return transact(db, async (tx) => {
    const row = await lockOpenJob(tx, job);
    if (row?.position !== batch.position) return false;
    const outcome = await recordRows(tx, row, batch.rows);
    const result = add(row.result as unknown as ImportResult, outcome);
    const done = batch.position + batch.rows.length;
    await updateJobProgress(tx, job.jobId, { done, total: result.totalRows, result });
    if (done >= result.totalRows) await endJob(tx, job.jobId, { state: 'completed' });
    return true;
  });
}

function add(result: ImportResult, { created, updated, errors }: RowsOutcome): ImportResult {
  return {
    ...result,
    successCount: result.successCount + created + updated,
    createdCount: result.createdCount + created,
    updatedCount: result.updatedCount + updated,
    failureCount: result.failureCount + errors.length,
    errors: [...result.errors, ...errors].slice(0, limits.jobErrors),
  };
}

/** Creates or updates the contacts of rows as if one row came after the other. */
async function recordRows(
  tx: Database,
  job: JobRow,
  rows: readonly (ImportRow | RowError)[],
): Promise<RowsOutcome> {
  const errors = rows.filter((row): row is RowError => 'error' in row);
  const outcomes: RowsOutcome[] = [{ created: 0, updated: 0, errors }];
  for (const chunk of chunksOf(rows.filter((row): row is ImportRow => !('error' in row)))) {
    outcomes.push(...(await recordChunk(tx, job, chunk)));
  }
  return {
    created: outcomes.reduce((sum, outcome) => sum + outcome.created, 0),
    updated: outcomes.reduce((sum, outcome) => sum + outcome.updated, 0),
    errors: outcomes.flatMap((outcome) => outcome.errors).sort((a, b) => a.row - b.row),
  };
}

/** Splits rows into chunks in which every address occurs once, in the order of the file. */
function chunksOf(rows: readonly ImportRow[]): ImportRow[][] {
  const chunks: ImportRow[][] = [];
  const seen = new Map<string, number>();
  for (const row of rows) {
    const chunk = seen.get(row.email) ?? 0;
    seen.set(row.email, chunk + 1);
    (chunks[chunk] ??= []).push(row);
  }
  return chunks;
}

async function recordChunk(
  tx: Database,
  { project_id: projectId, caused_by: actor }: JobRow,
  chunk: readonly ImportRow[],
): Promise<RowsOutcome[]> {
  const origin: ConsentOrigin = { ...noEvidence, source: 'import', actor };
  const outcomes: RowsOutcome[] = [];
  // Repeated for addresses that another transaction inserted between the select and the insert.
  for (let rows = chunk; rows.length > 0;) {
    const contacts = await lockContacts(tx, projectId, rows);
    const known = rows.filter((row) => contacts.has(row.email));
    outcomes.push(await mergeRows(tx, projectId, known, contacts, origin));
    const unknown = rows.filter((row) => !contacts.has(row.email));
    const made = await insertRows(tx, projectId, unknown, origin);
    outcomes.push({ created: made.size, updated: 0, errors: [] });
    rows = unknown.filter((row) => !made.has(row.email));
  }
  return outcomes;
}

async function lockContacts(
  tx: Database,
  projectId: string,
  rows: readonly ImportRow[],
): Promise<Map<string, LockedContact>> {
  const contacts = await tx
    .selectFrom('contact')
    .select(['id', 'email', 'subscribed', 'consent'])
    .select(sql<number>`coalesce(octet_length(data::text), 0)`.as('bytes'))
    .select(sql<number>`(select count(*)::int from jsonb_object_keys(data))`.as('keys'))
    .where('project_id', '=', projectId)
    .where(
      'email',
      '=',
      anyOf(
        rows.map((row) => row.email),
        'text',
      ),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return new Map(contacts.map((contact) => [contact.email, contact]));
}

/**
 * Inserts rows in order of address, so that two imports do not deadlock. Returns the inserted
 * addresses.
 */
async function insertRows(
  tx: Database,
  projectId: string,
  rows: readonly ImportRow[],
  origin: ConsentOrigin,
): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const { rows: made } = await sql<MadeContact>`
    insert into contact (project_id, email, subscribed, data)
      select ${projectId}, email, coalesce(subscribed, true), nullif(data, '{}')
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as given(email text, subscribed boolean, data jsonb)
        order by email
      on conflict (project_id, email) do nothing
      returning id, email, subscribed, ${hasAddressKey(projectId)} as has_list`.execute(tx);
  const action = actionOf(true, origin.source);
  const granted = await unsubscribeErased(tx, projectId, made);
  const lines = granted.map((contactId) => ({ contactId, action, topic: null }));
  await recordConsent(tx, projectId, lines, origin);
  return new Set(made.map(({ email }) => email));
}

/** Merges rows into contacts that the caller has locked. */
async function mergeRows(
  tx: Database,
  projectId: string,
  rows: readonly ImportRow[],
  contacts: ReadonlyMap<string, LockedContact>,
  origin: ConsentOrigin,
): Promise<RowsOutcome> {
  if (rows.length === 0) return { created: 0, updated: 0, errors: [] };
  const given = rows.map((row) => ({ ...row, contact: contacts.get(row.email)! }));
  const errors = await findOverfull(tx, given);
  const refused = new Set(errors.map(({ row }) => row));
  const accepted = given.filter(({ row }) => !refused.has(row));
  const merged = await withoutErased(tx, projectId, accepted);
  const change = merged.map(({ contact: { id }, subscribed, data }) => ({ id, subscribed, data }));
  // The database merges the data, which keeps the precision of stored numbers.
  const data = sql`nullif(coalesce(contact.data, '{}') || given.data, '{}')`;
  const subscribed = sql`coalesce(given.subscribed, contact.subscribed)`;
  await sql`
    update contact set data = ${data}, subscribed = ${subscribed}, updated_at = now()
      from jsonb_to_recordset(${JSON.stringify(change)}::jsonb)
        as given(id uuid, subscribed boolean, data jsonb)
      where contact.id = given.id
        and (contact.data is distinct from ${data} or contact.subscribed <> ${subscribed})
    `.execute(tx);
  const changed = merged.filter(
    (row) => row.subscribed !== null && row.subscribed !== row.contact.subscribed,
  );
  const events = changed.map((row) => ({
    contactId: row.contact.id,
    name: row.subscribed ? 'contact.subscribed' : 'contact.unsubscribed',
    data: { source: origin.source },
    causedBy: origin.actor,
  }));
  if (events.length > 0) await recordEvents(tx, projectId, events, { contactsLocked: true });
  const lines = changed.map((row) => ({
    contactId: row.contact.id,
    action: actionOf(row.subscribed === true, origin.source),
    topic: null,
  }));
  await recordConsent(tx, projectId, lines, origin);
  const { source, ...evidence } = origin;
  const ended = merged
    .filter((row) => row.subscribed === false && row.contact.consent === 'pending')
    .map(({ contact: { id: contactId, subscribed: isLogged } }) => ({
      contactId,
      projectId,
      source,
      isLogged,
    }));
  await endOptIns(tx, ended, evidence);
  return { created: 0, updated: merged.length, errors };
}

/** Leaves the subscription unchanged in rows that would subscribe an erased address. */
async function withoutErased<R extends ImportRow & { contact: LockedContact }>(
  tx: Database,
  projectId: string,
  rows: readonly R[],
): Promise<R[]> {
  const asked = rows.filter((row) => row.subscribed === true && !row.contact.subscribed);
  const emails = asked.map(({ email }) => email);
  const erased = await findErased(tx, projectId, emails);
  return rows.map((row) => (erased.has(row.email) ? { ...row, subscribed: null } : row));
}

/**
 * Returns the rows whose contact would exceed a limit. Only rows that may exceed it are checked
 * exactly, one by one.
 */
async function findOverfull(
  tx: Database,
  given: readonly (ImportRow & { contact: LockedContact })[],
): Promise<RowError[]> {
  const suspects = given.filter(
    ({ contact, data }) =>
      contact.keys + Object.keys(data).length > limits.contactDataKeys ||
      contact.bytes + jsonBytes(data) > limits.contactDataBytes,
  );
  const errors: RowError[] = [];
  for (const { row, email, contact, data } of suspects) {
    const { rows } = await sql<{ data: Record<string, unknown> }>`
      select coalesce(data, '{}') || ${JSON.stringify(data)}::jsonb as data
        from contact where id = ${contact.id}`.execute(tx);
    const error = contactDataFault(rows[0]?.data ?? null);
    if (error !== null) errors.push({ row, email, error });
  }
  return errors;
}
