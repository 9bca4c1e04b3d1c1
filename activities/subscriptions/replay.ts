import type { Database } from '../../db/database.ts';
import { findJobProgress, type JobRef } from '../../db/jobs/jobs.ts';
import { recordReplayPage } from '../../db/transactions/subscriptions/replay.ts';
import { timeBoxed } from '../running/time-box.ts';

export type ReplayActivities = ReturnType<typeof createReplayActivities>;

export interface ReplayServices {
  db: Database;
}

export function createReplayActivities({ db }: ReplayServices) {
  return {
    /**
     * Makes the deliveries of a replay's events pending, for one time slice. Returns the progress
     * of the job.
     */
    REPLAY_EVENTS: (job: JobRef) =>
      timeBoxed(async (shouldContinue) => {
        while (shouldContinue() && !(await recordReplayPage(db, job)));
        return findJobProgress(db, job);
      }),
  };
}
