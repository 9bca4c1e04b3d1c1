import type { Database } from '../db/database.ts';
import { firePage, startFiring } from '../db/transactions/executions/fire-schedule.ts';
import {
  prepareSchedule,
  recordScheduleUpdate,
  type ScheduleUpdate,
} from '../db/schedules/schedules.ts';
import type { JobProgress } from '../domain/job.ts';
import { timeBoxed } from './running/time-box.ts';

export type ScheduleActivities = ReturnType<typeof createScheduleActivities>;

export interface ScheduleServices {
  db: Database;
  /** Creates, changes or deletes Temporal's schedule of a workflow. */
  updateSchedule(update: ScheduleUpdate): Promise<void>;
}

export function createScheduleActivities({ db, updateSchedule }: ScheduleServices) {
  return {
    /**
     * Updates Temporal's schedule of a workflow. Also starts late firings, and records firings that
     * are too late to start.
     */
    async KEEP_SCHEDULE(workflowId: string): Promise<void> {
      const update = await prepareSchedule(db, workflowId);
      if (!update) return;
      await updateSchedule(update);
      await recordScheduleUpdate(db, update);
    },
    /** Starts the executions of a firing, for one time slice. `at`: the planned time. */
    FIRE: ({ workflowId, at }: { workflowId: string; at: string }) =>
      timeBoxed(async (shouldContinue): Promise<JobProgress> => {
        const planned = new Date(at);
        let page = { matched: 0, shouldContinue: await startFiring(db, workflowId, planned) };
        while (page.shouldContinue && shouldContinue())
          page = await firePage(db, workflowId, planned);
        const { matched } = page;
        const state = page.shouldContinue ? 'active' : 'completed';
        return { state, done: matched, total: matched, failedReason: null };
      }),
  };
}
