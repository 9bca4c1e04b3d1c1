import { columnsOf } from '../../columns.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import type { ExecutionRow } from './executions.ts';

/**
 * Locks executions for an action on them, in the caller's transaction: their contacts first, in the
 * order that all code uses (see `enterStep`). So each execution is between two transactions of its
 * run. Returns the executions that exist, ordered by id.
 * @param ids some hundreds at most
 */
export async function lockExecutions(
  tx: Database,
  ids: readonly string[],
): Promise<ExecutionRow[]> {
  await tx
    .selectFrom('contact')
    .select('id')
    .where('id', 'in', (eb) =>
      eb.selectFrom('execution').select('contact_id').where('id', '=', anyOf(ids)),
    )
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  return tx
    .selectFrom('execution')
    .select(columnsOf('execution'))
    .where('id', '=', anyOf(ids))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}
