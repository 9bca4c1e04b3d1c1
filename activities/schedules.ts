import type { Database } from '../db/database.ts';
import { firePage, startFiring } from '../db/transactions/executions/fire-schedule.ts';
import {
  prepareSchedule,
  recordScheduleUpdate,
  type ScheduleUpdate,
} from '../db/schedules/schedules.ts';
import type { JobProgress } from '../domain/job.ts';
import { timeBoxed } from './running/time-box.ts';

export interface ScheduleActivities {
  /** Updates Temporal's schedule of a workflow, and lists firings that were missed. */
  KEEP_SCHEDULE(workflowId: string): Promise<void>;
  /** Starts executions of a firing for one time slice. `at`: its planned time. */
  FIRE(firing: { workflowId: string; at: string }): Promise<JobProgress>;
}

export interface ScheduleServices {
  db: Database;
  /** Creates, changes or deletes Temporal's schedule of a workflow. */
  updateSchedule(update: ScheduleUpdate): Promise<void>;
}

export function createScheduleActivities({
  db,
  updateSchedule,
}: ScheduleServices): ScheduleActivities {
  return {
    async KEEP_SCHEDULE(workflowId) {
      const update = await prepareSchedule(db, workflowId);
      if (!update) return;
      await updateSchedule(update);
      await recordScheduleUpdate(db, update);
    },
    FIRE: ({ workflowId, at }) =>
      timeBoxed(async (shouldContinue) => {
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
