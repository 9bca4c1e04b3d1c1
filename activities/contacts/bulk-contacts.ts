import { recordBulkBatch, startBulk } from '../../db/transactions/contacts/change-in-bulk.ts';
import type { Database } from '../../db/database.ts';
import { findJobProgress, type JobRef } from '../../db/jobs/jobs.ts';
import type { JobProgress } from '../../domain/job.ts';
import { timeBoxed } from '../running/time-box.ts';

export interface BulkActivities {
  /** Runs a bulk action for one time slice. Returns the job's progress. */
  BULK_CONTACTS(job: JobRef): Promise<JobProgress>;
}

export interface BulkServices {
  db: Database;
}

export function createBulkActivities({ db }: BulkServices): BulkActivities {
  return {
    BULK_CONTACTS: (job) =>
      timeBoxed(async (shouldContinue) => {
        await startBulk(db, job);
        while (shouldContinue()) {
          if (!(await recordBulkBatch(db, job))) break;
        }
        return findJobProgress(db, job);
      }),
  };
}
