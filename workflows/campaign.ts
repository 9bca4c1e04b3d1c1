import {
  ActivityCancellationType,
  type ActivityOptions,
  allHandlersFinished,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { CampaignControl } from '../activities/mail/campaign-control.ts';
import type { CampaignSending } from '../activities/mail/campaign.ts';
import type { CampaignPhase } from '../domain/campaign/campaign.ts';
import { priorities } from '../domain/runs/runs.ts';
import { allSettled } from './all-settled.ts';

/**
 * Number of parallel SEND_BATCHES activities: while one activity records outcomes, the other
 * activities send.
 */
const senders = 4;

/**
 * Sends one campaign. The state of the campaign is in the database. This run reads the phase of the
 * campaign, runs the activities of the phase, and reads the phase again, until the campaign has
 * ended. Changes to the campaign signal the run.
 */
export async function campaignSend(campaign: {
  projectId: string;
  campaignId: string;
}): Promise<void> {
  const options: ActivityOptions = {
    startToCloseTimeout: '10 minutes',
    // The death of the worker is noticed after this time, and the campaign continues on another
    // worker.
    heartbeatTimeout: '15 seconds',
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
    // Projects take turns, so that one project's campaigns do not delay the mail of all others.
    priority: { fairnessKey: campaign.projectId },
  };
  const { ADVANCE_CAMPAIGN, FREEZE_AUDIENCE, SUPPRESS_REST } =
    proxyActivities<CampaignControl>(options);
  const { SEND_BATCHES } = proxyActivities<CampaignSending>({
    ...options,
    taskQueue: `${workflowInfo().taskQueue}-mail`,
    // The priority is lower than the priority of work for which a request waits.
    priority: { priorityKey: priorities.bulk, fairnessKey: campaign.projectId },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (;;) {
    changed = false;
    const phase = await ADVANCE_CAMPAIGN(campaign);
    showProgress(phase);
    switch (phase.phase) {
      case 'scheduled':
        await condition(() => changed, phase.waitMs, { summary: `Starts at ${phase.startsAt}` });
        break;
      case 'sending':
        await allSettled([
          FREEZE_AUDIENCE(campaign),
          ...Array.from({ length: senders }, () => SEND_BATCHES(campaign)),
        ]);
        break;
      case 'waiting':
        await condition(() => changed, phase.waitMs, { summary: waitSummaries[phase.for] });
        break;
      case 'paused':
        await condition(() => changed);
        break;
      case 'cancelled':
        while (!(await SUPPRESS_REST(campaign)).isOver);
        return;
      case 'over':
        // If a retry of failed mail has signalled since the phase was read, the run reads the phase
        // again.
        if (changed) break;
        return;
    }
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof campaignSend>(campaign);
    }
  }
}

const waitSummaries = {
  retry: 'Until the next mail is due',
  outcome: 'Waits for outcomes that are unknown',
  decision: 'Until the experiment is decided',
} as const;

/** Shows the campaign's progress in the Temporal UI. */
function showProgress(phase: CampaignPhase): void {
  if (phase.phase === 'scheduled') setCurrentDetails(`Starts at ${phase.startsAt}`);
  if (!('sent' in phase)) return;
  const progress = `${counted(phase.sent)} of ${counted(phase.total)} sent`;
  setCurrentDetails(phase.phase === 'paused' ? `Paused: ${progress}` : progress);
}

/** Formats 12500 as 12,500. */
function counted(count: number): string {
  return count.toLocaleString('en-US');
}
