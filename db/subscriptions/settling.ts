import { sql } from 'kysely';
import { type Attempt, failuresMax } from '../../domain/subscription/schedule.ts';
import type { Database } from '../database.ts';

/** What the end of a request changes. */

/** The end of a request. */
export interface Settled {
  eventId: string;
  turn: number;
  attempts: Attempt[];
  /** When the attempt before began; null: this was the first. */
  lastAttemptAt: Date | null;
  startedAt: Date;
  /** null: delivered. */
  failure: {
    /** null: it was the last one; `kept`: it stays due as it was, and does not count. */
    waitMs: number | null | 'kept';
    response: string | null;
    /** For how long nothing may be sent. */
    holdMs: number;
    /** The wait for a probe, if this failure begins a back-off. */
    backOffMs: number;
    /** It was a probe: how many had failed before, and the wait for the next one; null: it was none. */
    probe: { failed: number; waitMs: number } | null;
  } | null;
}

/**
 * Records the end of a request, in the caller's transaction. Somebody may have asked for another
 * attempt meanwhile, or the delivery may be skipped: a failure leaves that as it is.
 */
export async function settle(tx: Database, id: string, settled: Settled): Promise<void> {
  // The subscription before its deliveries, as all who write to both.
  if (settled.failure === null) await noteSuccess(tx, id);
  else await noteFailure(tx, id, settled, settled.failure);
  const { eventId, attempts } = settled;
  await sql`
    with counted as (
      insert into event_subscription_minute (subscription_id, minute, requests)
        select id, date_trunc('minute', now()), 1 from event_subscription where id = ${id}
        on conflict (subscription_id, minute)
          do update set requests = event_subscription_minute.requests + 1
    )
    update event_delivery set attempts = ${JSON.stringify(attempts)}::jsonb, updated_at = now(),
        ${changeOf(settled)}
      where subscription_id = ${id} and event_id = ${eventId}`.execute(tx);
}

/** SQL of what becomes of the delivery. */
function changeOf({ turn, failure }: Settled) {
  if (failure === null) {
    return sql`status = 'delivered', reason = null, response = null, ended_at = now(),
      urgent = false, tries = 0`;
  }
  const said = sql`response = ${kept(failure.response)}, urgent = urgent and turn <> ${turn}`;
  if (failure.waitMs === null) {
    return sql`${said}, tries = tries + 1,
      status = case when ${isSame(turn)} then 'failed' else status end,
      ended_at = case when ${isSame(turn)} then now() else ended_at end`;
  }
  if (failure.waitMs === 'kept') return sql`${said}, is_retry = true`;
  return sql`${said}, tries = tries + 1, is_retry = true,
    due_at = case when ${isSame(turn)}
      then clock_timestamp() + ${failure.waitMs} * interval '1 millisecond' else due_at end`;
}

/** The receiver is well: a back-off is over, and what waits is due. */
async function noteSuccess(tx: Database, id: string): Promise<void> {
  await sql`update event_subscription set failing_since = null, failures = 0, probes = 0,
      released_at = case when probe_at is null then released_at else clock_timestamp() end,
      probe_at = null
    where id = ${id} and (failing_since is not null or failures > 0 or probe_at is not null)`.execute(
    tx,
  );
}

/** Counts a failure, and begins a back-off when there are enough. */
async function noteFailure(
  tx: Database,
  id: string,
  { startedAt, lastAttemptAt }: Settled,
  { holdMs, backOffMs, probe }: NonNullable<Settled['failure']>,
): Promise<void> {
  // Those of a delivery that has failed since the last success were counted then.
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

/** An answer about an event that is gone is not kept. */
const kept = (response: string | null) => sql`
  case when exists (select from event where event.id = event_id) then ${response} end`;

const isSame = (turn: number) => sql`status = 'pending' and turn = ${turn}`;

/** For how many seconds every request of a subscription has failed. */
export async function readFailingSeconds(tx: Database, id: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select coalesce(extract(epoch from clock_timestamp() - failing_since), 0)::float8 as seconds
      from event_subscription where id = ${id}`.execute(tx);
  return rows[0]?.seconds ?? 0;
}
