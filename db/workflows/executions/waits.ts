import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { isoInstant } from '../../expressions.ts';
import { derivedNamed, selectDerived } from '../../sql/derived-events.ts';
import { clockSkew } from '../../sql/execution-predicates.ts';
import { listStepMarks } from './starts.ts';
import type { StepVisit } from './steps.ts';
import { countsFrom } from '../../../domain/workflow/place.ts';
import type { Expectation } from '../../../domain/workflow/steps/effects.ts';
import { waitingFor } from '../../../domain/workflow/steps/wait-for-event.ts';
import { meetsWait, requiredData } from '../../../domain/filter/where.ts';

export interface MatchedEvent {
  id: string;
  name: string;
  data: Record<string, unknown> | null;
  createdAt: Date;
  /** Time when the event was recorded, to the microsecond. */
  recordedAt: string;
}

/** A new wait of an execution. `since`: when its step began, to the microsecond. */
type NewWait = Omit<Expectation, 'since'> & {
  lookBack: Expectation['since'];
  since: string;
  expiresAt: Date | null;
};

/**
 * Registers a step's wait for an event, in the caller's transaction. If such an event was recorded
 * before (`findEarlierEvent`), returns this event instead. The contact has been locked since the
 * step was entered, and recording an event locks the contact, too. So an event is either found
 * here, or is recorded later and ends the wait.
 */
export async function registerWait(
  tx: Database,
  { execution, stepExecution }: StepVisit,
  wait: NewWait,
): Promise<MatchedEvent | null> {
  const event = await findEarlierEvent(tx, execution, wait);
  if (event) {
    // In a repeated call, an event may have ended the wait that the first call registered.
    await tx.deleteFrom('wait').where('step_execution_id', '=', stepExecution.id).execute();
    return event;
  }
  const where = wait.where && wait.where.items;
  const required = where && requiredData(where);
  const output = waitingFor(wait.eventName, where);
  // One statement updates both rows.
  await tx
    .with('registered', (query) =>
      query
        .insertInto('wait')
        .values({
          step_execution_id: stepExecution.id,
          project_id: execution.project_id,
          execution_id: execution.id,
          contact_id: execution.contact_id,
          event_name: wait.eventName,
          expires_at: wait.expiresAt,
          conditions: where && JSON.stringify(where),
          required_data: required && JSON.stringify(required),
        })
        .onConflict((conflict) => conflict.column('step_execution_id').doNothing()),
    )
    .updateTable('step_execution')
    .set({
      status: 'WAITING',
      execute_after: wait.expiresAt,
      updated_at: sql<Date>`now()`,
      ...(output && { output: JSON.stringify(output) }),
    })
    .where('id', '=', stepExecution.id)
    .execute();
  return null;
}

/**
 * Number of events that are read at once for a wait with conditions, which this process evaluates.
 */
const pageSize = 100;

/**
 * Returns the first event that ends a wait at once: it was recorded before the wait begins, but
 * after the execution or the step began, or after an earlier time (`countsFrom`). An event never
 * ends two waits of an execution, nor a wait of the execution that it started. The caller has
 * locked the contact.
 */
export async function findEarlierEvent(
  tx: Database,
  execution: Pick<StepVisit['execution'], 'id' | 'contact_id'>,
  wait: NewWait,
): Promise<MatchedEvent | null> {
  const isOwn = (at: string) => sql`contact_id = ${execution.contact_id}
    and ${wait.expiresAt === null ? sql`true` : sql`${sql.ref(at)} < ${wait.expiresAt}`}`;
  const marks = await listStepMarks(tx, execution.id);
  const beginning = wait.lookBack === 'execution' ? await findBeginning(tx, execution.id) : null;
  const used = [beginning, ...marks].flatMap((one) => one?.eventId ?? []);
  const isTaken = beginning ? isDigested(execution) : sql`false`;
  let since = beginning?.at ?? countsFrom(marks) ?? wait.since;
  let after = sql`true`;
  for (;;) {
    const from = sql`${since}::timestamptz`;
    const derived = derivedNamed(wait.eventName).map((mailed) => {
      // Derived events have times in whole milliseconds, so compare with the start of the
      // millisecond, or one would be missed.
      const isSince = sql`${sql.ref(mailed.at)} >= date_trunc('milliseconds', ${from})`;
      return sql`union all select ${found}
        from (${selectDerived(mailed, sql`${isOwn(mailed.at)} and ${isSince}`)}) as mail`;
    });
    const { rows } = await sql<MatchedEvent>`
      select id, name, data, created_at as "createdAt", ${isoInstant(sql`recorded_at`)} as "recordedAt"
        from (
          select ${found} from event
            where name = ${wait.eventName} and ${isOwn('recorded_at')} and recorded_at > ${from}
          ${sql.join(derived, sql` `)}) as found
        where not id = any(${used}::uuid[]) and not ${isTaken} and ${after}
        order by recorded_at, id limit ${wait.where ? pageSize : 1}`.execute(tx);
    const event = rows.find(({ data }) => isExpected(wait, data));
    const last = rows.at(-1);
    if (event || !wait.where || !last || rows.length < pageSize) return event ?? null;
    // Stored events have different times, but derived events may have the same one, so ids are
    // compared, too.
    since = last.recordedAt;
    after = sql`(recorded_at, id) > (${last.recordedAt}::timestamptz, ${last.id}::uuid)`;
  }
}

/** SQL that is true if a DIGEST of an execution has collected the event in the row `found`. */
function isDigested({ id, contact_id }: Pick<StepVisit['execution'], 'id' | 'contact_id'>) {
  return sql`exists (select from digest_event inner_taken
          join step_execution inner_taking on inner_taking.id = inner_taken.step_execution_id
          where inner_taken.contact_id = ${contact_id} and inner_taken.event_id = found.id
            and inner_taking.execution_id = ${id})`;
}

function isExpected({ where }: NewWait, data: MatchedEvent['data']): boolean {
  return !where || meetsWait(where.items, { ...where.scope, event: data });
}

/**
 * Returns when an execution began: when its starting event was recorded, if it has one. Also
 * returns the id of this event.
 */
export async function findBeginning(
  tx: Database,
  executionId: string,
): Promise<{ at: string; eventId: string | null } | undefined> {
  const { rows } = await sql<{ at: string; eventId: string | null }>`
    select ${isoInstant(sql`coalesce(event.recorded_at, execution.started_at)`)} as at,
        starting_event_id as "eventId"
      from execution left join event on event.id = execution.starting_event_id
      where execution.id = ${executionId}`.execute(tx);
  return rows[0];
}

/**
 * Ends the wait of an execution by an event that was recorded before the wait began. The caller has
 * locked the execution.
 */
export async function claimWait(tx: Database, executionId: string, eventId: string): Promise<void> {
  await tx
    .updateTable('wait')
    .set({ event_id: eventId })
    .where('execution_id', '=', executionId)
    .where('event_id', 'is', null)
    .execute();
}

const found = sql`id, name, data, created_at, recorded_at`;
const noTime = sql`interval '0'`;

/**
 * Ends a wait, in the caller's transaction. Returns the event that ended it, or null for a timeout.
 * When an event and the timeout coincide, the row lock lets exactly one of them end the wait. If
 * neither has happened (the run got a late or wrong signal), the wait continues, and its end is
 * returned.
 * @param isOver true if the wait has ended on the clock of the run, which may be slightly ahead, or
 * the run has received the event
 */
export async function settleWait(
  tx: Database,
  stepExecutionId: string,
  isOver: boolean,
): Promise<WaitEnd | { until: Date | null }> {
  const wait = await tx
    .selectFrom('wait')
    .select(['event_id', 'expires_at'])
    .select(
      sql<boolean>`event_id is null
        and coalesce(expires_at > clock_timestamp() + ${isOver ? clockSkew : noTime}, true)`.as(
        'is_open',
      ),
    )
    .where('step_execution_id', '=', stepExecutionId)
    .forUpdate()
    .executeTakeFirst();
  if (wait?.is_open) return { until: wait.expires_at };
  await tx.deleteFrom('wait').where('step_execution_id', '=', stepExecutionId).execute();
  const timedOut = { event: null, timedOutAt: wait?.expires_at ?? null };
  if (!wait?.event_id) return timedOut;
  const event = await tx
    .selectFrom('event')
    .select(['id', 'name', 'created_at as createdAt'])
    .select(sql<MatchedEvent['data']>`data`.as('data'))
    .select(isoInstant(sql`recorded_at`).as('recordedAt'))
    .where('id', '=', wait.event_id)
    .executeTakeFirst();
  return event ? { event } : timedOut;
}

/** The way in which a wait ended. */
export type WaitEnd =
  | { event: MatchedEvent }
  /**
   * A timeout. `timedOutAt` is null if the row of the wait was deleted, or the wait had no end and
   * its event was deleted.
   */
  | { event: null; timedOutAt: Date | null };

/**
 * Completes a wait with its output. Returns when its event was recorded, or when it timed out, to
 * the microsecond: the next step begins at this time, even if the run is informed later.
 */
export async function completeWait(
  tx: Database,
  stepExecutionId: string,
  output: Record<string, unknown>,
  end: WaitEnd,
): Promise<string> {
  // Temporal's clock may be ahead of the database's, so the run may end the wait slightly early.
  const settledAt = end.event
    ? sql<Date>`${end.event.recordedAt}::timestamptz`
    : sql<Date>`least(${end.timedOutAt}::timestamptz, clock_timestamp())`;
  const row = await tx
    .updateTable('step_execution')
    .set({
      status: 'COMPLETED',
      output: JSON.stringify(output),
      ending_event_id: end.event?.id ?? null,
      settled_at: settledAt,
      completed_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', stepExecutionId)
    .returning(sql<string>`settled_at::text`.as('at'))
    .executeTakeFirstOrThrow();
  return row.at;
}
