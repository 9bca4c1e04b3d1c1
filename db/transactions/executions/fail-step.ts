import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { exitExecutions } from './exit-executions.ts';
import { closingSteps } from '../../workflows/executions/closing.ts';
import type { StepVisit } from '../../workflows/executions/steps.ts';
import { limits } from '../../../domain/limits.ts';
import { cutText } from '../../../domain/text-rules.ts';

/**
 * Ends a step as FAILED, and its execution with the same message, unless an exit rule ends it.
 * Returns true if the execution has failed.
 */
export async function failStep(
  tx: Database,
  visit: StepVisit,
  message: string,
  output: Record<string, unknown> | null,
): Promise<boolean> {
  const at = sql<Date>`clock_timestamp()`;
  const error = cutText(message, limits.executionErrorChars);
  await tx
    .updateTable('step_execution')
    .set({
      status: 'FAILED',
      error,
      output: output && JSON.stringify(output),
      completed_at: at,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', visit.stepExecution.id)
    .execute();
  if (await exitWithStep(tx, visit)) return false;
  await sql`
    with ended as (
      update execution set status = 'FAILED', error = ${error}, completed_at = ${at},
          updated_at = now()
        where id = ${visit.execution.id} returning id
    ), ${closingSteps()}
    select from ended`.execute(tx);
  return true;
}

/**
 * Ends the execution of a finished step, if an exit rule was met while the step was running.
 * Returns true if so.
 */
export async function exitWithStep(
  tx: Database,
  { execution: { id, exit_pending: reason } }: StepVisit,
): Promise<boolean> {
  return reason !== null && (await exitExecutions(tx, [{ id, reason }])).length > 0;
}
