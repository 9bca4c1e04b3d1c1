import {
  ActivityCancellationType,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { SystemMailActivities } from '../../activities/mail/system-mail.ts';
import { platformFairness, priorities } from '../../domain/runs/runs.ts';

/**
 * Sends one mail that has no `email` row: the test of a campaign, or mail of the platform to a
 * user. A run that is started again finds the mail's row deleted.
 */
export async function systemMail(mail: {
  projectId: string | null;
  mailId: string;
}): Promise<void> {
  // The signal only starts the run; there is nothing to do.
  setHandler(defineSignal('changed'), () => {});
  const { SEND_SYSTEM_MAIL } = proxyActivities<SystemMailActivities>({
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // A user is waiting for it.
    priority: {
      priorityKey: priorities.attended,
      fairnessKey: mail.projectId ?? platformFairness,
    },
  });
  for (;;) {
    const { retryMs } = await SEND_SYSTEM_MAIL({ mailId: mail.mailId });
    if (retryMs === null) return;
    await sleep(retryMs, { summary: 'Next try' });
  }
}
