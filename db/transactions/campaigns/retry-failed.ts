import { type CampaignRef, findCampaign, StaleRow } from '../../campaigns/campaigns.ts';
import { findDueRetry, retryPage, storeRetry } from '../../campaigns/retries.ts';
import { type Database, transact } from '../../database.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import type { Retry } from '../../../domain/campaign/retry.ts';

/**
 * Retries the failed mail of a campaign, one page per transaction. The first page that finds such
 * mail stores the retry in `campaign.retry`, and each page stores its position there. If the
 * process of the request dies, the run of the campaign continues the retry.
 */

/** Milliseconds without a finished page after which the process of a request counts as dead. */
const requestMs = 30_000;

/**
 * Retries the next page of failed mail for a request.
 * @returns the retry after this page
 * @throws StaleRow if the status of the campaign allows no more mail, or its run has taken over
 */
export async function retryNext(tx: Database, campaign: CampaignRef, retry: Retry): Promise<Retry> {
  const next = await retryFrom(tx, campaign, retry, requestMs);
  if (next.retried === 0) return next;
  const row = await findCampaign(tx, campaign.projectId, campaign.campaignId);
  // Starts the run again if the campaign had sent all its mail.
  if (row) await signalCampaign(tx, row);
  return next;
}

/** Processes the next page of a retry whose request has died. Returns true if pages are left. */
export async function continueRetry(
  db: Database,
  campaign: CampaignRef,
): Promise<{ isMore: boolean }> {
  const retry = await findDueRetry(db, campaign.campaignId);
  if (!retry) return { isMore: false };
  try {
    const next = await transact(db, (tx) => retryFrom(tx, campaign, retry, 0));
    return { isMore: next.reasons.length > 0 };
  } catch (error) {
    if (error instanceof StaleRow) return { isMore: true };
    throw error;
  }
}

async function retryFrom(
  tx: Database,
  campaign: CampaignRef,
  retry: Retry,
  lookMs: number,
): Promise<Retry> {
  const [reason, ...later] = retry.reasons;
  if (reason === undefined) return retry;
  const page = await retryPage(tx, campaign, reason, retry.after);
  const next = {
    reasons: page.next ? retry.reasons : later,
    after: page.next,
    retried: retry.retried + page.retried,
  };
  if (next.retried === 0) return next;
  const was = retry.retried === 0 ? null : retry;
  if (!(await storeRetry(tx, campaign, was, next, lookMs))) throw new StaleRow();
  return next;
}
