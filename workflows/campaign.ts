import {
  ActivityCancellationType,
  type ActivityOptions,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  patched,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CampaignControl, CampaignSending } from '../activities/mail/campaign.ts';
import type { CampaignPhase } from '../domain/campaign/campaign.ts';
import { priorities } from '../domain/runs.ts';

/** Batches under way at once: while one is written down, others are handed over. */
const senders = 4;

/**
 * Sends one campaign. The rows are the work: this run looks at the campaign, sees that somebody
 * does what there is to do, and looks again; it ends when the campaign has ended. It is told of
 * every change that somebody else makes.
 */
export async function campaignSend(campaign: {
  projectId: string;
  campaignId: string;
}): Promise<void> {
  const options: ActivityOptions = {
    startToCloseTimeout: '10 minutes',
    // How long a campaign stands still after its worker was killed.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Without it one project's campaigns would stand in front of everybody else's mail.
    priority: { fairnessKey: campaign.projectId },
  };
  const control = proxyActivities<CampaignControl>(options);
  const { FREEZE_AUDIENCE } = control;
  // A run that began under the former names goes on with them: they are in its history.
  const [advance, suppressRest] = patched('advance-campaign')
    ? [control.ADVANCE_CAMPAIGN, control.SUPPRESS_REST]
    : [control.LOOK_AT_CAMPAIGN, control.WITHHOLD_REST];
  const { SEND_BATCHES } = proxyActivities<CampaignSending>({
    ...options,
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    // After what somebody waits for.
    priority: { priorityKey: priorities.bulk, fairnessKey: campaign.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const phase = await advance(campaign);
    showProgress(phase);
    switch (phase.phase) {
      case 'scheduled':
        await condition(() => changed, phase.waitMs, { summary: `Starts at ${phase.startsAt}` });
        break;
      case 'sending':
        // All of them, whatever becomes of one: what is handed over must be written down.
        await Promise.allSettled([
          FREEZE_AUDIENCE(campaign),
          ...Array.from({ length: senders }, () => SEND_BATCHES(campaign)),
        ]).then(throwFirst);
        break;
      case 'waiting':
        await condition(() => changed, phase.waitMs, {
          summary: phase.for === 'retry' ? 'Next try' : 'Waits for outcomes that are unknown',
        });
        break;
      case 'paused':
        await condition(() => changed);
        break;
      case 'cancelled':
        while (!(await suppressRest(campaign)).isOver);
        return;
      case 'over':
        return;
    }
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof campaignSend>(campaign);
    }
  }
}

function throwFirst(results: PromiseSettledResult<void>[]): void {
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Says in Temporal how far it is. */
function showProgress(phase: CampaignPhase): void {
  if (phase.phase === 'scheduled') setCurrentDetails(`Starts at ${phase.startsAt}`);
  if (!('sent' in phase)) return;
  const progress = `${counted(phase.sent)} of ${counted(phase.total)} sent`;
  setCurrentDetails(phase.phase === 'paused' ? `Paused: ${progress}` : progress);
}

/** 12500 as 12,500. */
function counted(count: number): string {
  return count.toLocaleString('en-US');
}
