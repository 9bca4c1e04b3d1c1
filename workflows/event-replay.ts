import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { ReplayActivities } from '../activities/subscriptions/replay.ts';
import { sliceOptions, workInSlices } from './job.ts';

/** Sends the events of a time span to an event subscription again. */
export async function eventReplay(job: { projectId: string; jobId: string }): Promise<void> {
  const { REPLAY_EVENTS } = proxyActivities<ReplayActivities>(sliceOptions(job.projectId));
  if (await workInSlices('percent', () => REPLAY_EVENTS(job))) {
    await continueAsNew<typeof eventReplay>(job);
  }
}
