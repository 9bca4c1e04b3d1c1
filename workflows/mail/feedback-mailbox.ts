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
import type { FeedbackMailboxActivities } from '../../activities/mail/feedback-mailbox.ts';

/** Pause after the first failed read, and maximum pause, in milliseconds. */
const firstRetryMs = 15_000;
const lastRetryMs = 15 * 60_000;

/**
 * Reads the mailbox of reports while a mailbox is configured. After a failed read, the run tries
 * again, with a pause that doubles. Each worker signals the run when it starts, because the
 * settings may have changed.
 * @param failures number of consecutive reads that failed
 */
export async function feedbackMailbox({ failures = 0 } = {}): Promise<void> {
  const { READ_FEEDBACK_MAILBOX } = proxyActivities<FeedbackMailboxActivities>({
    startToCloseTimeout: '5 minutes',
    // The death of the worker is noticed after this time.
    heartbeatTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  });
  let changed = false;
  setHandler(defineSignal('changed'), () => {
    changed = true;
  });
  for (let taken = 0, inRow = failures; ;) {
    changed = false;
    const look = await READ_FEEDBACK_MAILBOX();
    if (look === null) return;
    taken += look.taken;
    inRow = look.error === null ? 0 : inRow + 1;
    const since = workflowInfo().runStartTime.toISOString();
    const state = look.error === null ? 'Reading' : `Not readable: ${look.error}`;
    setCurrentDetails(`${state}; ${taken} messages since ${since}`);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      return await continueAsNew<typeof feedbackMailbox>({ failures: inRow });
    }
    const waitMs =
      inRow === 0 ? look.nextMs : Math.min(firstRetryMs * 2 ** (inRow - 1), lastRetryMs);
    if (waitMs > 0) await condition(() => changed, waitMs, { summary: 'Next look' });
  }
}
