import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { cancelJobs } from '../../jobs/jobs.ts';
import { forgetSchedules } from '../../schedules/schedules.ts';

/**
 * Deletes workflows, which the caller has locked, with their graphs, and cancels their jobs. Their
 * executions can no longer be found, and are deleted later with the versions: `db/removals/`.
 * Emails they sent stay.
 */
export async function deleteWorkflows(tx: Database, ids: readonly string[]): Promise<void> {
  await cancelJobs(tx, { workflowIds: ids });
  await forgetSchedules(tx, ids);
  await tx.deleteFrom('workflow').where('id', '=', anyOf(ids)).execute();
}
