import { recordBulkBatch, startBulk } from '../../db/transactions/contacts/change-in-bulk.ts';
import type { Database } from '../../db/database.ts';
import { findJobProgress, type JobRef } from '../../db/jobs/jobs.ts';
import { timeBoxed } from '../running/time-box.ts';

export type BulkActivities = ReturnType<typeof createBulkActivities>;

export interface BulkServices {
  db: Database;
}

export function createBulkActivities({ db }: BulkServices) {
  return {
    /** Runs a bulk action for one time slice. Returns the job's progress. */
    BULK_CONTACTS: (job: JobRef) =>
      timeBoxed(async (shouldContinue) => {
        await startBulk(db, job);
        while (shouldContinue()) {
          if (!(await recordBulkBatch(db, job))) break;
        }
        return findJobProgress(db, job);
      }),
  };
}
