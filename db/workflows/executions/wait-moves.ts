import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf, isoTime } from '../../expressions.ts';
import { signalExecutions } from '../../outbox/outbox.ts';
import { historyWith } from './history.ts';
import { lockExecutions } from './lock.ts';
import { reconcileWhenWaiting } from './reconciliation.ts';

/** The new end of a delay, a wait for an event, or a digest. */
export type WaitMove =
  | { until: Date }
  | { shiftBySeconds: number }
  /** Removes the timeout; only for a wait for an event. */
  | { forever: true };

export interface OpenWait {
  executionId: string;
  /** A delay, a wait for an event, or an open digest. */
  kind: 'delay' | 'wait' | 'digest';
  /** End of the wait; null: it has none. */
  until: Date | null;
}

/** SQL of the kind of a wait, from the rows `step` and `wait`. */
export const restKind = sql<
  OpenWait['kind']
>`case when step.status is distinct from 'WAITING' then 'delay'
          when wait.digest is null then 'wait' else 'digest' end`;

/**
 * Locks WAITING executions, in the caller's transaction, and returns their waits. A wait whose
 * event has been recorded is left out, even if its run has not continued yet.
 * @param ids some hundreds at most
 */
export async function lockWaits(tx: Database, ids: readonly string[]): Promise<OpenWait[]> {
  await lockExecutions(tx, ids);
  const { rows } = await sql<OpenWait>`
    select execution.id as "executionId",
        ${restKind} as kind,
        case step.status when 'WAITING' then step.execute_after
          else (step.output ->> 'resumeAt')::timestamptz end as until
      from execution
      join step_execution step
        on step.execution_id = execution.id and step.step_id = execution.current_step_id
      left join wait on wait.step_execution_id = step.id
      where execution.id = ${anyOf(ids)} and execution.status = 'WAITING'
        and (step.status = 'COMPLETED' or step.status = 'WAITING' and wait.event_id is null)
      order by execution.id`.execute(tx);
  return rows;
}

/**
 * Maximum milliseconds until the end of a wait: a century. Temporal counts timers in nanoseconds,
 * which overflow before three centuries.
 */
export const farthestMs = 100 * 365 * 86_400_000;

/** SQL of the time when a wait ends: `until`, or now if this has passed. */
export function endingNow(until: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${until} < now() then now() else ${until} end`;
}

/**
 * Returns the end of a wait after a move; null: the wait then has no end; undefined: the move does
 * not apply to this wait, or moves its end beyond `farthestMs`.
 */
export function movedEnd({ kind, until }: OpenWait, move: WaitMove): Date | null | undefined {
  if ('until' in move) return move.until;
  if ('forever' in move) return kind === 'wait' ? null : undefined;
  const end = until && until.getTime() + move.shiftBySeconds * 1000;
  return end !== null && end < Date.now() + farthestMs ? new Date(end) : undefined;
}

/**
 * Moves the ends of waits that the caller has locked by `lockWaits`, and signals their runs. An end
 * in the past ends the wait at once.
 */
export async function moveWaits(
  tx: Database,
  ends: readonly { executionId: string; until: Date | null }[],
): Promise<void> {
  if (ends.length === 0) return;
  const moved = sql`unnest(${ends.map(({ executionId }) => executionId)}::uuid[],
    ${ends.map(({ until }) => until)}::timestamptz[]) as moved(execution_id, until)`;
  const formerEnd = sql`coalesce(execute_after, (output ->> 'resumeAt')::timestamptz)`;
  const { rows } = await sql<{ id: string; project_id: string }>`
    with execution_moved as (
      update execution set next_reconcile_at = ${reconcileWhenWaiting(sql`moved.until`)}, updated_at = now()
        from ${moved} where execution.id = moved.execution_id
        returning execution.id, project_id, current_step_id, moved.until
    ), waits as (
      update wait set expires_at = ${endingNow(sql`execution_moved.until`)} from execution_moved
        where wait.execution_id = execution_moved.id
    ), steps as (
      update step_execution set
          execute_after = case when status = 'WAITING' then until end,
          output = case when status = 'COMPLETED'
            then output || jsonb_build_object('resumeAt', ${isoTime(sql`until`)}) else output end,
          history = ${historyWith({
            from: isoTime(formerEnd),
            to: isoTime(sql`until`),
            detail: sql`'{"moved": true}'`,
          })},
          updated_at = now()
        from execution_moved
        where step_execution.execution_id = execution_moved.id and step_id = current_step_id
    ), scheduled as (
      update step_execution set scheduled_for = until, updated_at = now()
        from execution_moved
        where step_execution.execution_id = execution_moved.id and status = 'SCHEDULED'
    )
    select id, project_id from execution_moved`.execute(tx);
  await signalExecutions(tx, rows);
}
