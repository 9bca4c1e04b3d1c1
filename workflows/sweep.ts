import { proxyActivities } from '@temporalio/workflow';
import type { SweepActivities } from '../activities/sweep.ts';

/** Started by the only schedule: finds what a crash forgot and what time has settled. */
export async function sweep(): Promise<void> {
  const { DISPATCH_FORGOTTEN, REPAIR_EXECUTIONS, SETTLE_UNCERTAIN, CLEAR_IDEMPOTENCY_KEYS } =
    proxyActivities<SweepActivities>({
      startToCloseTimeout: '5 minutes',
      // The next sweep comes in half a minute anyway.
      retry: { maximumAttempts: 3 },
    });
  await DISPATCH_FORGOTTEN();
  await REPAIR_EXECUTIONS();
  await SETTLE_UNCERTAIN();
  await CLEAR_IDEMPOTENCY_KEYS();
}
