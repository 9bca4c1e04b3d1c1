import {
  proxyActivities,
  proxyLocalActivities,
  sleep,
  type ActivityOptions,
} from '@temporalio/workflow';
import type { BareActivities } from './bare-worker.ts';

/** One step of a bare workflow: an activity, a local activity, or a timer of one second. */
export type BareStep = 'activity' | 'local' | 'second';

const options: ActivityOptions = { startToCloseTimeout: '1 minute' };
const remote = proxyActivities<BareActivities>(options);
const local = proxyLocalActivities<BareActivities>(options);

/**
 * The reference of executions: the same activities and timers on the same Temporal, where each
 * activity runs one trivial statement.
 */
export async function bareWorkflow(execution: string, steps: readonly BareStep[]): Promise<void> {
  for (const [index, step] of steps.entries()) {
    if (step === 'second') await sleep(1000);
    else await (step === 'local' ? local : remote).STEP(execution, index);
  }
}
