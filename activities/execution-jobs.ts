import type { Database } from '../db/database.ts';
import { recordExecutionPage } from '../db/transactions/execution-jobs/execution-pages.ts';
import { findJobProgress, type JobRef } from '../db/jobs/jobs.ts';
import type { JobProgress } from '../domain/job.ts';
import { timeBoxed } from './running/time-box.ts';

export type ExecutionJobActivities = ReturnType<typeof createExecutionJobActivities>;

export interface ExecutionJobServices {
  db: Database;
}

export function createExecutionJobActivities({ db }: ExecutionJobServices) {
  return {
    /**
     * Runs a job on executions for one time slice, or until it must pause. Returns the job's
     * progress.
     */
    WORK_ON_EXECUTIONS: (job: JobRef) =>
      timeBoxed(async (shouldContinue): Promise<JobProgress> => {
        let pauseMs = 0;
        while (pauseMs === 0 && shouldContinue()) {
          const page = await recordExecutionPage(db, job);
          if (page === null) break;
          pauseMs = page.pauseMs;
        }
        return { ...(await findJobProgress(db, job)), pauseMs };
      }),
  };
}
