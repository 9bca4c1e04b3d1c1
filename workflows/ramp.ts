import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { RampActivities } from '../activities/ramps.ts';
import type { RunInputs } from '../domain/runs/runs.ts';

/**
 * Begins each day of a ramp. Makes as much held mail due as the limit of the day allows, until the
 * ramp is done or deleted. The row of the ramp has the end of the current day; changes of the row
 * signal the run.
 */
export async function ramp(given: RunInputs['ramp']): Promise<void> {
  const { ADVANCE_RAMP } = proxyActivities<RampActivities>({
    startToCloseTimeout: '1 minute',
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    priority: { fairnessKey: given.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const state = await ADVANCE_RAMP(given.rampId);
    if (state === null) return;
    setCurrentDetails(state.details);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof ramp>(given);
    }
    if (state.dueMs === null) await condition(() => changed);
    else {
      await condition(() => changed, Math.max(state.dueMs, 1), {
        summary: `Held mail becomes due, at the latest on day ${state.nextDay}`,
      });
    }
  }
}
