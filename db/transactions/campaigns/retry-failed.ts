import { type CampaignRef, findCampaign, StaleRow } from '../../campaigns/campaigns.ts';
import { findDueRetry, retryPage, storeRetry } from '../../campaigns/retries.ts';
import { type Database, transact } from '../../database.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import type { Retry } from '../../../domain/campaign/retry.ts';

/**
 * Retries the failed mail of a campaign, a page in a transaction. The first page with such mail stores
 * in the campaign what was asked for, and each page how far it has come. If the process of the request
 * dies, the run of the campaign continues.
 */

/** A request that has ended no page for so long has died. */
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
  // Also starts the run of a campaign that was sent to its end.
  if (row) await signalCampaign(tx, row);
  return next;
}

/** Continues a retry whose request has died, by a page. Returns true if there is more to do. */
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
