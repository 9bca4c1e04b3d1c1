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
 * Sends one mail that has no `email` row: the test of a campaign, or a mail of the platform to a
 * user. If the run is started again, the mail's row is gone and nothing is sent.
 */
export async function systemMail(mail: {
  projectId: string | null;
  mailId: string;
}): Promise<void> {
  // The signal is only used to start the run, so it needs no action.
  setHandler(defineSignal('changed'), () => {});
  const { SEND_SYSTEM_MAIL } = proxyActivities<SystemMailActivities>({
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // High priority, because a user waits for this mail.
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
