import { z } from 'zod';
import { type CampaignRef, findCampaign } from '../../db/campaigns/campaigns.ts';
import { countNotRetried, reopenCampaign, retryPage } from '../../db/campaigns/retries.ts';
import { transact } from '../../db/database.ts';
import { signalCampaign } from '../../db/outbox/outbox.ts';
import { holdProject } from '../../db/projects/projects.ts';
import {
  defaultRetryReasons,
  retriableReasons,
  type RetriableReason,
} from '../../domain/campaign/retry.ts';
import type { Position } from '../../domain/cursor.ts';
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
    'those that a person has stopped (for example by an opt-out), are never tried again. CAMPAIGN_NOT_FINISHED: the status in ' +
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
    let retried = 0;
    for (const reason of body.reasons) retried += await retryAll(call, campaign, reason, retried);
    return { retried, notRetried };
  },
});

/** @param before how many messages this call has retried */
async function retryAll(
  call: Pick<Call<'secret', unknown, unknown, unknown>, 'db' | 'note'>,
  campaign: CampaignRef,
  reason: RetriableReason,
  before: number,
): Promise<number> {
  const { projectId, campaignId: id } = campaign;
  let retried = 0;
  for (let after: Position | null = null; ;) {
    const page = await transact(call.db, async (tx) => {
      await holdProject(tx, projectId);
      const done = await retryPage(tx, campaign, reason, after);
      if (done.retried === 0) return done;
      const isFirst = before + retried === 0;
      const isOpen = await reopenCampaign(tx, campaign, isFirst);
      const row = found('CAMPAIGN', id, await findCampaign(tx, projectId, id));
      if (!isOpen) throw notFinished(row, onlySent);
      await signalCampaign(tx, row);
      if (!isFirst) return done;
      const target = { type: 'campaign', id } as const;
      await call.note({ event: 'campaign.retried', projectId, target }, tx);
      return done;
    });
    retried += page.retried;
    after = page.next;
    if (after === null) return retried;
  }
}
