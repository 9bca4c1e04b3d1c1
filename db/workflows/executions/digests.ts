import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { isoInstant } from '../../expressions.ts';
import { derivedNamed, selectDerived, selectEvents } from '../../sql/derived-events.ts';
import { digestOf, takeEvents } from './digest-events.ts';
import { reconcileWhenRunning } from './reconciliation.ts';
import { listStepMarks } from './starts.ts';
import type { StepVisit } from './steps.ts';
import { findBeginning } from './waits.ts';
import type { ContactValues } from '../../../domain/filter/evaluate.ts';
import { meetsWait, requiredData, type Where } from '../../../domain/filter/where.ts';
import { limits } from '../../../domain/limits.ts';
import { type DigestCandidate, isOfKey } from '../../../domain/workflow/event-effects.ts';
import {
  closingReason,
  type DigestEnd,
  digestResult,
  type DigestedEvent,
  openOutput,
} from '../../../domain/workflow/steps/digest.ts';
import type { DigestSettings, Expectation } from '../../../domain/workflow/steps/effects.ts';

/**
 * Digests: rows of `wait` that collect events until they close, each event as a row of
 * `digest_event`. The transaction that records an event adds it to open digests. When a digest
 * opens, it collects earlier events page by page, before it may close. All of this happens under
 * the lock of the contact, so no event is missed or collected twice.
 */

/** The earlier events that an open digest has not read yet. */
interface LookBack {
  /**
   * The last event that was read; null: none was, so reading begins with the start of the
   * execution, including its starting event.
   */
  after: { at: string; id: string } | null;
  /** End of the earlier events: later ones were collected when they were recorded. */
  until: string;
}

/** The settings of a digest, as stored in the column `wait.digest`. */
type StoredDigest = DigestSettings & { lookBack: LookBack | null };

/**
 * SQL of the settings of a digest that must read the events between `after` and now. `after` null:
 * from the beginning of its execution.
 */
export function lookingBack(after: LookBack['after']): RawBuilder<unknown> {
  return sql`jsonb_build_object('lookBack', jsonb_build_object(
    'after', ${JSON.stringify(after)}::jsonb, 'until', ${isoInstant(sql`clock_timestamp()`)}))`;
}

/** The highest possible id. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Opens the digest of a step, in the caller's transaction, which has locked the contact.
 * @param opening.stepSince when the previous step ended, to the microsecond
 */
export async function openDigest(
  tx: Database,
  { execution, stepExecution }: Pick<StepVisit, 'execution' | 'stepExecution'>,
  opening: Expectation & { until: Date; settings: DigestSettings; stepSince: string },
): Promise<void> {
  const { eventName, since, where, until, settings, stepSince } = opening;
  const conditions = where && where.items;
  const after = since === 'execution' ? null : { at: stepSince, id: lastId };
  // A retried step may have collected events before. There are few of them, usually none.
  await sql`
    with opened as (
      insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name,
          expires_at, conditions, required_data, digest, digest_count)
        select ${stepExecution.id}::uuid, ${execution.project_id}::uuid, ${execution.id}::uuid,
            ${execution.contact_id}::uuid, ${eventName}::text, ${until}::timestamptz,
            ${conditions && JSON.stringify(conditions)}::jsonb,
            ${conditions && requiredData(conditions)}::jsonb,
            ${JSON.stringify(settings)}::jsonb || ${lookingBack(after)},
            (select count(*) from digest_event where step_execution_id = ${stepExecution.id})
    )
    update step_execution set status = 'WAITING', execute_after = ${until}, updated_at = now(),
        output = ${JSON.stringify(openOutput(opening))}
      where id = ${stepExecution.id}`.execute(tx);
}

/**
 * Number of events that are read at once, without or with their data, and the maximum number of
 * such pages in one transaction.
 */
const page = { plain: 1000, withData: 100, timesAtOnce: 10 };

/**
 * Adds earlier events to an open digest, and closes the digest if it is complete, in the caller's
 * transaction, which has locked the contact.
 * @returns `output`, the output of its step, if the digest is closed now; otherwise `until`, when
 *   to call this function again: now, if there are more earlier events to read
 */
export async function settleDigest(
  tx: Database,
  { execution, stepExecution }: Pick<StepVisit, 'execution' | 'stepExecution'>,
): Promise<{ output: Record<string, unknown> } | { until: Date }> {
  await lookBack(tx, execution, stepExecution.id);
  const { rows } = await sql<Opened>`
    select digest, digest_count as count, expires_at as "until",
        expires_at <= clock_timestamp() as "isOver"
      from wait where step_execution_id = ${stepExecution.id}
      for update`.execute(tx);
  const [opened] = rows;
  if (!opened) throw new Error(`Step execution ${stepExecution.id} has no open digest.`);
  if (opened.digest.lookBack) return { until: new Date() };
  const closedBy = closingReason(opened.digest, opened);
  if (closedBy === null) return { until: opened.until };
  return { output: await closeDigest(tx, execution.id, closedBy) };
}

interface Opened {
  digest: StoredDigest;
  count: number;
  until: Date;
  isOver: boolean;
}

/** Returns true if an execution, which the caller has locked, has an open digest. */
export async function hasOpenDigest(tx: Database, executionId: string): Promise<boolean> {
  const row = await tx
    .selectFrom('wait')
    .select('step_execution_id')
    .where('execution_id', '=', executionId)
    .where('digest', 'is not', null)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Closes the open digest of an execution, in the caller's transaction. Adds its events to the
 * context; from now on, an event of the trigger starts another execution.
 * @returns the output of its step
 */
export async function closeDigest(
  tx: Database,
  executionId: string,
  closedBy: DigestEnd,
): Promise<Record<string, unknown>> {
  const { rows } = await sql<Closing>`
    with closed as (
      delete from wait where execution_id = ${executionId}
        returning step_execution_id, event_name, digest_count
    )
    select event_name as "eventName", digest_count as count, clock_timestamp() as "closedAt",
        array(select event_id from digest_event
          where step_execution_id = closed.step_execution_id
          order by recorded_at, event_id limit ${limits.digestEvents}) as "firstIds",
        array(select event_id from digest_event
          where step_execution_id = closed.step_execution_id
          order by recorded_at desc, event_id desc limit 1) as "lastIds"
      from closed`.execute(tx);
  const [closing] = rows;
  if (!closing) throw new Error(`Execution ${executionId} has no open digest.`);
  const { firstIds, lastIds, ...closed } = closing;
  const events = await readEvents(tx, [...new Set([...firstIds, ...lastIds])]);
  const { output, context } = digestResult({
    ...closed,
    closedBy,
    firstAt: events[0]?.at ?? null,
    lastAt: events.at(-1)?.at ?? null,
    events: events.filter(({ id, isShort }) => isShort && firstIds.includes(id)),
  });
  await sql`
    update execution set status = 'RUNNING', updated_at = now(),
        context = coalesce(context, '{}') || ${JSON.stringify(context)}::jsonb,
        slot = case when exists (select from workflow where workflow.id = execution.workflow_id
            and trigger_type = 'EVENT' and trigger_event_name = ${closed.eventName})
          then null else slot end,
        next_reconcile_at = case when status = 'RUNNING' then next_reconcile_at else ${reconcileWhenRunning} end
      where id = ${executionId}`.execute(tx);
  return output;
}

interface Closing {
  eventName: string;
  count: number;
  closedAt: Date;
  firstIds: string[];
  lastIds: string[];
}

/** Reads events, oldest first, with at most `limits.digestBytes` bytes of data in all. */
async function readEvents(
  tx: Database,
  ids: readonly string[],
): Promise<(DigestedEvent & { isShort: boolean })[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<DigestedEvent & { isShort: boolean }>`
    select id, name, created_at as at, "isShort", case when "isShort" then data end as data
      from (select id, name, data, created_at, recorded_at,
            coalesce(sum(octet_length(data::text)) over (order by recorded_at, id), 0)
              <= ${limits.digestBytes} as "isShort"
          from (${selectEvents(ids)}) as own) as measured
      order by recorded_at, id`.execute(tx);
  return rows;
}

/** Collects earlier events, until all are read, or `page.timesAtOnce` pages. */
async function lookBack(
  tx: Database,
  execution: Pick<StepVisit['execution'], 'id' | 'contact_id'>,
  stepExecutionId: string,
): Promise<void> {
  for (let times = 0; times < page.timesAtOnce; times++) {
    const digest = await findDigest(tx, stepExecutionId);
    const past = digest?.stored.lookBack;
    if (!digest || !past) return;
    const isPlain = digest.where === null && !digest.candidate.isOfTrigger;
    const max = isPlain ? page.plain : page.withData;
    const events = await readPage(tx, execution, digest, { past, max, withData: !isPlain });
    const scope = { contact: digest.contact, context: digest.context };
    const own = events.filter(
      ({ isUsed, data }) =>
        !isUsed &&
        meetsWait(digest.where ?? [], { ...scope, event: data }) &&
        isOfKey(digest.candidate, data),
    );
    await takeEvents(
      tx,
      own.map(({ id, recordedAt }) => ({ id, stepExecutionId, recordedAt })),
    );
    const last = events.length < max ? undefined : events.at(-1);
    const left = last ? { ...past, after: { at: last.recordedAt, id: last.id } } : null;
    await tx
      .updateTable('wait')
      .set({ digest: JSON.stringify({ ...digest.stored, lookBack: left }) })
      .where('step_execution_id', '=', stepExecutionId)
      .execute();
  }
}

interface FoundDigest {
  stored: StoredDigest;
  eventName: string;
  where: Where | null;
  candidate: DigestCandidate;
  contact: ContactValues;
  context: Record<string, unknown> | null;
}

async function findDigest(tx: Database, stepExecutionId: string): Promise<FoundDigest | undefined> {
  const { rows } = await sql<Omit<FoundDigest, 'contact'> & ContactValues>`
    select wait.digest as stored, wait.event_name as "eventName", wait.conditions as "where",
        digest.candidate, execution.context, contact.email, contact.subscribed, contact.data,
        contact.created_at as "createdAt", contact.updated_at as "updatedAt"
      from wait
      join execution on execution.id = wait.execution_id
      join contact on contact.id = wait.contact_id
      cross join lateral ${digestOf('wait')} digest
      where wait.step_execution_id = ${stepExecutionId}`.execute(tx);
  const [row] = rows;
  if (!row) return undefined;
  const { stored, eventName, where, candidate, context, ...contact } = row;
  return { stored, eventName, where, candidate, context, contact };
}

interface EarlierEvent {
  id: string;
  /** The data of the event; null also if `withData` is false. */
  data: Record<string, unknown> | null;
  /** Time when the event was recorded, to the microsecond. */
  recordedAt: string;
  /**
   * True if the event has started another execution of the workflow, or another step has used it.
   */
  isUsed: boolean;
}

/** Returns the next earlier events of a digest, in the order in which they were recorded. */
async function readPage(
  tx: Database,
  { id: executionId, contact_id: contactId }: Pick<StepVisit['execution'], 'id' | 'contact_id'>,
  { eventName, candidate }: FoundDigest,
  { past, max, withData }: { past: LookBack; max: number; withData: boolean },
): Promise<EarlierEvent[]> {
  const marks = await listStepMarks(tx, executionId);
  const ended = marks.flatMap(({ eventId }) => eventId ?? []);
  const from = past.after?.at ?? (await findBeginning(tx, executionId))?.at;
  const isOwn = (at: string) => sql`contact_id = ${contactId}
    and ${sql.ref(at)} <= ${past.until}::timestamptz`;
  const derived = derivedNamed(eventName).map((mailed) => {
    const isSince = sql`${sql.ref(mailed.at)} >= date_trunc('milliseconds', ${from}::timestamptz)`;
    return sql`union all select id, data, recorded_at
      from (${selectDerived(mailed, sql`${isOwn(mailed.at)} and ${isSince}`)}) as mail`;
  });
  const isAfter = past.after
    ? sql`(recorded_at, id) > (${past.after.at}::timestamptz, ${past.after.id}::uuid)`
    : sql`true`;
  const { rows } = await sql<EarlierEvent>`
    with page as materialized (
      select id, data, recorded_at from (
          select id, data, recorded_at from event
            where name = ${eventName} and ${isOwn('recorded_at')}
              and recorded_at >= ${from}::timestamptz
          ${sql.join(derived, sql` `)}) as found
        where ${isAfter}
        order by recorded_at, id limit ${max}
    )
    select id, ${withData ? sql`data` : sql`null`} as data, ${isoInstant(sql`recorded_at`)} as "recordedAt",
        id = any(${ended}::uuid[])
          or exists (select from digest_event taken
            join step_execution step on step.id = taken.step_execution_id
            where taken.contact_id = ${contactId} and taken.event_id = page.id
              and (taken.step_id = ${candidate.stepId} or step.execution_id = ${executionId}))
          or id in (select starting_event_id from execution
            where contact_id = ${contactId} and workflow_id = ${candidate.workflowId}
              and execution.id <> ${executionId} and starting_event_id is not null
              and started_at >= (select min(recorded_at) from page)) as "isUsed"
      from page
      order by recorded_at, id`.execute(tx);
  return rows;
}

/** Number of executions that are read to find the last closing of a digest. */
const readForLast = 100;

/**
 * Returns when a digest of a step last closed in another execution of the same workflow, contact
 * and key; null: none has closed in the newest `readForLast` executions.
 */
export async function findLastClosing(
  tx: Database,
  execution: Pick<StepVisit['execution'], 'id' | 'contact_id' | 'workflow_id' | 'key'>,
  stepId: string,
): Promise<Date | null> {
  const { id, contact_id: contactId, workflow_id: workflowId, key } = execution;
  const { rows } = await sql<{ at: Date | null }>`
    select max(step.completed_at) as at
      from (select id from execution
          where contact_id = ${contactId} and workflow_id = ${workflowId} and id <> ${id}
            and ${key === null ? sql`key is null` : sql`key = ${key}`}
          order by started_at desc limit ${readForLast}) recent
      join step_execution step on step.execution_id = recent.id and step.step_id = ${stepId}
      where step.output ? 'closedBy'`.execute(tx);
  return rows[0]?.at ?? null;
}
