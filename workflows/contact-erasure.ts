import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { ErasureActivities } from '../activities/erasure.ts';
import { sliceOptions } from './job.ts';

/** Removes what an erased contact has, once mail that is being handed over has settled. */
export async function contactErasure(erasure: {
  projectId: string;
  erasureId: string;
}): Promise<void> {
  const { ERASE_CONTACT } = proxyActivities<ErasureActivities>(sliceOptions(erasure.projectId));
  // Every slice reads the row, so the signal needs no action.
  setHandler(defineSignal('changed'), () => {});
  for (let pauses = 0; ;) {
    const { isOver, task, pauseMs } = await ERASE_CONTACT(erasure.erasureId);
    if (isOver) return;
    setCurrentDetails(`Removing: ${task}`);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      await continueAsNew<typeof contactErasure>(erasure);
    }
    pauses = pauseMs > 0 ? pauses + 1 : 0;
    // An unknown outcome settles after minutes.
    const waitMs = Math.min(pauseMs * 2 ** Math.min(pauses, 6), 30_000);
    if (pauseMs > 0) await sleep(waitMs, { summary: 'Wait for mail that is being handed over' });
  }
}
