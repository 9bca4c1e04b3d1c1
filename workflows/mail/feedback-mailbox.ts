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

/** Milliseconds after the first failed look, and at most. */
const firstRetryMs = 15_000;
const lastRetryMs = 15 * 60_000;

/**
 * Reads the mailbox of reports for as long as one is configured. A mailbox that cannot be read is
 * tried again, at pauses that double. A worker that starts signals the run, because its settings
 * may have changed.
 * @param failures consecutive looks that have failed
 */
export async function feedbackMailbox({ failures = 0 } = {}): Promise<void> {
  const { READ_FEEDBACK_MAILBOX } = proxyActivities<FeedbackMailboxActivities>({
    startToCloseTimeout: '5 minutes',
    // How long the mailbox is not read after its worker was killed.
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
