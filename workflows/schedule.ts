import {
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules.ts';
import { runIds } from '../domain/runs/runs.ts';
import { sliceOptions } from './job.ts';

/** Updates Temporal's schedule of a workflow to match its row. */
export async function workflowSchedule({ workflowId }: { workflowId: string }): Promise<void> {
  const { KEEP_SCHEDULE } = proxyActivities<ScheduleActivities>({
    startToCloseTimeout: '1 minute',
    retry: { maximumInterval: '30 seconds' },
  });
  let isChanged = true;
  setHandler(defineSignal('changed'), () => {
    isChanged = true;
  });
  while (isChanged) {
    isChanged = false;
    await KEEP_SCHEDULE(workflowId);
  }
}

/**
 * Fires the schedule of a workflow once.
 * @param input.at the planned time; missing: Temporal's schedule has appended it to the id
 */
export async function firing(input: {
  projectId: string;
  workflowId: string;
  at?: string;
}): Promise<void> {
  const { projectId, workflowId } = input;
  const prefix = runIds.firing({ projectId, workflowId, at: '' });
  const at = input.at ?? workflowInfo().workflowId.slice(prefix.length);
  const { FIRE } = proxyActivities<ScheduleActivities>(sliceOptions(projectId));
  // Every slice reads the row, so the signal needs no action.
  setHandler(defineSignal('changed'), () => {});
  // Temporal allows 51,200 events per history: enough for about 8,500 slices, which last 23 hours.
  for (;;) {
    const { state, done } = await FIRE({ workflowId, at });
    setCurrentDetails(`${done} contacts`);
    if (state !== 'active') return;
  }
}
