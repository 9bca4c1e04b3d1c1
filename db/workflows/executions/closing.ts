import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';

/** Rows that end together with their execution. */

/**
 * SQL, as parts of a statement, that closes the open steps and waits of executions that end. The
 * statement must have a part `ended` before it, with the `id` of each execution.
 * @param options.atWork the status that a running step gets. RUNNING: the step cannot be cancelled,
 * and its result will be recorded
 * @param options.except the id of a step execution that another part of the statement completes
 */
export function closingSteps({
  atWork = 'SKIPPED',
  except,
}: { atWork?: 'SKIPPED' | 'FAILED' | 'RUNNING'; except?: string } = {}): RawBuilder<unknown> {
  const closed = ['PENDING', 'SCHEDULED', 'WAITING', ...(atWork === 'RUNNING' ? [] : ['RUNNING'])];
  return sql`
    closed as (
      update step_execution set completed_at = clock_timestamp(), updated_at = now(),
          status = case step_execution.status when 'RUNNING' then ${sql.lit(atWork)} else 'SKIPPED' end
        from ended
        where step_execution.execution_id = ended.id
          and step_execution.status in (${sql.join(closed.map((status) => sql.lit(status)))})
          ${except === undefined ? sql`` : sql`and step_execution.id <> ${except}`}
    ), forgotten as (
      delete from wait using ended where wait.execution_id = ended.id
    )`;
}

/**
 * Closes the open steps and waits of the given executions (at most some hundreds) that have ended.
 */
export async function closeSteps(db: Database, ids: readonly string[]): Promise<void> {
  await sql`
    with ended as (
      select id from execution
        where id = ${anyOf(ids)} and status not in ('RUNNING', 'WAITING')
    ), ${closingSteps()}
    select from ended`.execute(db);
}
