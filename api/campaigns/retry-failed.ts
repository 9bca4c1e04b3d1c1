import { z } from 'zod';
import { type CampaignRef, findCampaign, StaleRow } from '../../db/campaigns/campaigns.ts';
import { countNotRetried } from '../../db/campaigns/retries.ts';
import { type Database, transact } from '../../db/database.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { retryNext } from '../../db/transactions/campaigns/retry-failed.ts';
import {
  defaultRetryReasons,
  retriableReasons,
  type RetriableReason,
  type Retry,
} from '../../domain/campaign/retry.ts';
import { found } from '../../domain/errors.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { ById } from '../http/schemas.ts';
import { notFinished } from './states.ts';

const count = z.int().min(0);

const onlySent = 'Only the mails of a SENT campaign can be tried again.';

export const retryFailedCampaign = endpoint({
  id: 'retryFailedCampaign',
  method: 'POST',
  path: '/campaigns/{id}/retry-failed',
  summary: 'Try the failed mails of a sent campaign again, each at most once',
  description:
    'Mails that failed for one of `reasons` wait again, with the same ids, and all sending rules ' +
    'apply again. The campaign is SENDING until they have ended. Mails that may have arrived, and ' +
    'those that a person has stopped (for example by an opt-out), are never tried again. If the ' +
    'server stops meanwhile, the campaign goes on with the rest within a minute. ' +
    'CAMPAIGN_NOT_FINISHED: the status in ' +
    '`details.status` is not SENT. STATS_TOO_HEAVY: counting took longer than 10 seconds.',
  access: 'secret',
  wrapped: true,
  params: ById,
  body: z.object({
    reasons: z
      .array(z.enum(retriableReasons))
      .min(1)
      .max(retriableReasons.length)
      .default([...defaultRetryReasons])
      .transform((reasons) => [...new Set(reasons)])
      .describe('By default all but frequency_cap'),
  }),
  response: z.object({
    retried: count,
    notRetried: z.object({
      cannotChange: count.describe(
        'Another attempt would not help, or a person has stopped the mail',
      ),
      alreadyRetried: count,
      unknown: count.describe('The provider may have accepted them'),
    }),
  }),
  problems: ['CAMPAIGN_NOT_FOUND', 'CAMPAIGN_NOT_FINISHED', 'STATS_TOO_HEAVY'],
  example: {
    body: { reasons: ['provider_unavailable', 'frequency_cap'] },
    response: { retried: 12, notRetried: { cannotChange: 3, alreadyRetried: 0, unknown: 1 } },
  },
  async handle(call) {
    const { db, caller, params, body } = call;
    const { projectId } = caller;
    const row = found('CAMPAIGN', params.id, await findCampaign(db, projectId, params.id));
    if (row.status !== 'SENT') throw notFinished(row, onlySent);
    const campaign = { projectId, campaignId: params.id };
    const notRetried = await countNotRetried(db, campaign, body.reasons);
    return { retried: await retryAll(call, campaign, body.reasons), notRetried };
  },
});

/** Retries all failed mails with these reasons. Returns their number. */
async function retryAll(
  call: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note'>,
  campaign: CampaignRef,
  reasons: RetriableReason[],
): Promise<number> {
  let retry: Retry = { reasons, after: null, retried: 0 };
  while (retry.reasons.length > 0) {
    const next: Retry | null = await retryOnePage(call, campaign, retry);
    retry = next ?? (await readAgain(call.db, campaign, retry));
  }
  return retry.retried;
}

/**
 * Retries the next page of mails, and returns the state of the retry; null: the campaign allows no
 * more mail, or its run has taken over the retry.
 */
async function retryOnePage(
  { db, note }: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note'>,
  campaign: CampaignRef,
  retry: Retry,
): Promise<Retry | null> {
  const { projectId, campaignId: id } = campaign;
  try {
    return await transact(db, async (tx) => {
      await holdProject(tx, projectId);
      const next = await retryNext(tx, campaign, retry);
      if (retry.retried > 0 || next.retried === 0) return next;
      const target = { type: 'campaign', id } as const;
      await note({ event: 'campaign.retried', projectId, target }, tx);
      return next;
    });
  } catch (error) {
    if (error instanceof StaleRow) return null;
    throw error;
  }
}

/**
 * Returns the stored state of the retry, with no `reasons` if the retry has ended, for example
 * because the campaign was cancelled.
 */
async function readAgain(
  db: Database,
  { projectId, campaignId: id }: CampaignRef,
  retry: Retry,
): Promise<Retry> {
  const row = found('CAMPAIGN', id, await findCampaign(db, projectId, id));
  if (retry.retried === 0) {
    if (row.status !== 'SENT') throw notFinished(row, onlySent);
    return retry;
  }
  const isOpen = row.retry_look_at !== null && ['SENDING', 'PAUSED'].includes(row.status);
  const stored = row.retry ?? retry;
  return isOpen ? stored : { ...stored, reasons: [] };
}
