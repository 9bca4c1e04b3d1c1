import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { cancelJobs } from '../../jobs/jobs.ts';
import { forgetSchedules } from '../../schedules/schedules.ts';

/**
 * Deletes workflows with their graphs, which the caller has locked, and cancels their jobs. Their executions
 * are not found any more, and are deleted later
 * with the versions: `db/removals/`. Emails they sent stay.
 */
export async function deleteWorkflows(tx: Database, ids: readonly string[]): Promise<void> {
  await cancelJobs(tx, { workflowIds: ids });
  await forgetSchedules(tx, ids);
  await tx.deleteFrom('workflow').where('id', '=', anyOf(ids)).execute();
}
