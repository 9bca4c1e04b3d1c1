import {
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules.ts';
import { runIds } from '../domain/runs/runs.ts';
import { sliceOptions, workInSlices } from './job.ts';

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
 * @param input.at the planned time; missing: Temporal's schedule has appended it to the run's id
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
  if (await workInSlices('contacts', () => FIRE({ workflowId, at })))
    await continueAsNew<typeof firing>({ projectId, workflowId, at });
}
