import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { cancelJobs } from '../../jobs/jobs.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import { markSchedulesDue } from '../../schedules/schedules.ts';

/**
 * Ends campaigns and jobs of a project that must not send or write any more, and signals the
 * campaigns' runs. The caller cancels or deletes its executions.
 */
export async function stopRuns(tx: Database, projectId: string): Promise<void> {
  const campaigns = await tx
    .updateTable('campaign')
    .set({ status: 'CANCELLED', paused_reason: null, updated_at: sql<Date>`now()` })
    .where('project_id', '=', projectId)
    .where('status', 'in', ['SCHEDULED', 'SENDING', 'PAUSED'])
    .returning(['id', 'project_id', 'name'])
    .execute();
  // The runs of jobs need no signal, because they read the row of the job before each page.
  await cancelJobs(tx, { projectId });
  await markSchedulesDue(tx, projectId);
  for (const campaign of campaigns) await signalCampaign(tx, campaign);
}
