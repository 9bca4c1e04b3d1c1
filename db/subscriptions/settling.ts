import { sql } from 'kysely';
import { type Attempt, failuresMax } from '../../domain/subscription/schedule.ts';
import type { Database } from '../database.ts';
import { selectEvents } from '../sql/derived-events.ts';

/** Records the end of requests to receivers. */

export interface Settled {
  deliveries: { eventId: string; turn: number; attempts: Attempt[] }[];
  /** null: the request had one event, without a list. */
  batch: { id: string; turn: number } | null;
  /**
   * Start of the latest earlier attempt of any of the deliveries; null: this attempt was the first.
   */
  lastAttemptAt: Date | null;
  startedAt: Date;
  /** null: the request succeeded. */
  failure: {
    /**
     * Milliseconds until the next attempt; null: this attempt was the last; `kept`: the deliveries
     * stay due as before, and this attempt does not count.
     */
    waitMs: number | null | 'kept';
    /**
     * True if the batch has reached its number of attempts. Its deliveries are then sent one by
     * one.
     */
    isTakenApart: boolean;
    /** Response of the receiver; null: there was none, and the stored response is kept. */
    answer: { text: string | null } | null;
    /** Milliseconds for which nothing may be sent. */
    holdMs: number;
    /** Milliseconds until a probe, if this failure begins a back-off. */
    backOffMs: number;
    /**
     * For a probe: the number of failed probes before it, and the milliseconds until the next
     * probe; null: it was no probe.
     */
    probe: { failed: number; waitMs: number } | null;
  } | null;
}

/**
 * Value of `event_delivery.batch_turn` for a delivery that has failed and is sent alone from now
 * on. No subscription has this value: theirs begin at 0.
 */
const alone = -1;

/**
 * Records the end of a request, in the caller's transaction. A failure cancels neither a skip nor
 * an attempt that was requested in the meantime.
 */
export async function settle(tx: Database, id: string, settled: Settled): Promise<void> {
  // Update the subscription before its deliveries, as all code that writes both does.
  if (settled.failure === null) await noteSuccess(tx, id);
  else await noteFailure(tx, id, settled, settled.failure);
  const sent = settled.deliveries.map(({ eventId, turn, attempts }) => ({
    event_id: eventId,
    sent_turn: turn,
    made: attempts,
  }));
  await sql`
    with counted as (
      insert into event_subscription_minute (subscription_id, minute, requests)
        select id, date_trunc('minute', now()), 1 from event_subscription where id = ${id}
        on conflict (subscription_id, minute)
          do update set requests = event_subscription_minute.requests + 1
    ), sent as materialized (
      select event_id, sent_turn, made from jsonb_to_recordset(${JSON.stringify(sent)}::jsonb)
        as given(event_id uuid, sent_turn int, made jsonb)
    )
    update event_delivery delivery set attempts = made, updated_at = now(),
        batch_id = ${settled.batch?.id ?? null}, ${changeOf(settled)}
      from sent where subscription_id = ${id} and delivery.event_id = sent.event_id`.execute(tx);
}

function changeOf({ batch, deliveries, failure }: Settled) {
  if (failure === null) {
    return sql`status = 'delivered', reason = null, response = null, ended_at = now(),
      urgent = false, tries = 0, batch_turn = null`;
  }
  const turn = batch === null || failure.isTakenApart ? alone : batch.turn;
  const common = sql`response = ${kept(failure.answer, deliveries)}, is_retry = true, batch_turn = ${turn},
    urgent = urgent and turn <> sent_turn`;
  if (failure.waitMs === 'kept') return common;
  if (failure.waitMs === null) {
    return sql`${common}, tries = tries + 1,
      status = case when ${isSame} then 'failed' else status end,
      ended_at = case when ${isSame} then now() else ended_at end`;
  }
  // All deliveries get the same time, because a batch is due as a whole.
  return sql`${common}, tries = tries + 1, due_at = case when ${isSame}
    then statement_timestamp() + ${failure.waitMs} * interval '1 millisecond' else due_at end`;
}

/** Records that the receiver works: ends a back-off, and makes waiting deliveries due. */
async function noteSuccess(tx: Database, id: string): Promise<void> {
  await sql`update event_subscription set failing_since = null, failures = 0, probes = 0,
      released_at = case when probe_at is null then released_at else clock_timestamp() end,
      probe_at = null
    where id = ${id} and (failing_since is not null or failures > 0 or probe_at is not null)`.execute(
    tx,
  );
}

/** Counts a failure, and begins a back-off at `failuresMax`. */
async function noteFailure(
  tx: Database,
  id: string,
  { startedAt, lastAttemptAt }: Settled,
  { holdMs, backOffMs, probe }: NonNullable<Settled['failure']>,
): Promise<void> {
  // If the last attempt of this delivery failed after the last success, that failure was counted,
  // and this one is not.
  const counts = sql`coalesce(failing_since is null or ${lastAttemptAt}::timestamptz is null
    or ${lastAttemptAt}::timestamptz < failing_since, true)`;
  const failures = sql`least(failures + (${counts})::int, ${failuresMax})`;
  const isProbe =
    probe === null ? sql`false` : sql`(probe_at is not null and probes = ${probe.failed})`;
  await sql`update event_subscription set failing_since = coalesce(failing_since, ${startedAt}),
      failures = ${failures},
      probe_at = case when ${isProbe} then ${after(probe?.waitMs ?? 0)}
        when probe_at is null and ${failures} >= ${failuresMax} then ${after(backOffMs)}
        else probe_at end,
      probes = case when ${isProbe} then probes + 1 when probe_at is null then 0 else probes end,
      hold_until = case when ${holdMs} > 0 then greatest(hold_until, ${after(holdMs)})
        else hold_until end
    where id = ${id} and (failing_since is null or ${holdMs} > 0 or ${isProbe}
      or failures < ${failuresMax} and ${counts})`.execute(tx);
}

const after = (ms: number) => sql`(clock_timestamp() + ${ms} * interval '1 millisecond')`;

/** SQL of the response to store; null if an event of the request was deleted. */
const kept = (answer: { text: string | null } | null, deliveries: Settled['deliveries']) => sql`
  case when not exists (select from sent
    left join (${selectEvents(deliveries.map(({ eventId }) => eventId))}) event
      on event.id = sent.event_id
    where event.id is null) then ${answer ? answer.text : sql`delivery.response`} end`;

const isSame = sql`status = 'pending' and turn = sent_turn`;

/** Returns the seconds for which every request of a subscription has failed. */
export async function readFailingSeconds(tx: Database, id: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from clock_timestamp() - failing_since), 0)::float8 as seconds
      from event_subscription where id = ${id}`.execute(tx);
  return rows[0]?.seconds ?? 0;
}
