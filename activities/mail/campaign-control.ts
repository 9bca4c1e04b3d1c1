import { failCampaignEmails } from '../../db/campaigns/chunks.ts';
import type { CampaignRef } from '../../db/campaigns/campaigns.ts';
import { continueRetry } from '../../db/transactions/campaigns/retry-failed.ts';
import { advanceCampaign } from '../../db/transactions/mail/advance-campaign.ts';
import { freezeCampaign } from '../../db/transactions/mail/freeze-audience.ts';
import type { CampaignPhase } from '../../domain/campaign/campaign.ts';
import { timeBoxed, whileAlive } from '../running/time-box.ts';
import type { SendingServices } from './batches/batch.ts';

/** Quick activities of campaigns that need no mail provider. */
export interface CampaignControl {
  /** Changes the state of the campaign if its row or the time requires it. Returns its phase. */
  ADVANCE_CAMPAIGN(campaign: CampaignRef): Promise<CampaignPhase>;
  /**
   * Inserts messages for the audience, then continues a retry of failed messages if its request
   * died midway. Runs for one time slice; the next call resumes where this one stopped.
   */
  FREEZE_AUDIENCE(campaign: CampaignRef): Promise<void>;
  /**
   * Fails waiting messages of a cancelled or deleted campaign, for one time slice. `isOver`: no
   * unclaimed message is left.
   */
  SUPPRESS_REST(campaign: CampaignRef): Promise<{ isOver: boolean }>;
}

/** Approximate maximum number of messages that one statement fails. */
const suppressedPage = 2_000;

export function createCampaignControl({
  db,
  mailer,
  rates,
  routes,
}: SendingServices): CampaignControl {
  const isForAll = routes.length > 0;
  return {
    // Sends heartbeats, because the activity may have to wait for the lock of the campaign's row.
    ADVANCE_CAMPAIGN: (campaign: CampaignRef) =>
      whileAlive(() =>
        advanceCampaign(db, campaign, { provider: mailer.provider, rates, isForAll }),
      ),
    FREEZE_AUDIENCE: (campaign: CampaignRef) =>
      timeBoxed(async (shouldContinue) => {
        while (shouldContinue() && (await freezeCampaign(db, campaign)).isMore);
        while (shouldContinue() && (await continueRetry(db, campaign)).isMore);
      }),
    SUPPRESS_REST: ({ campaignId }: CampaignRef) =>
      timeBoxed(async (shouldContinue) => {
        while (shouldContinue()) {
          if ((await failCampaignEmails(db, campaignId, suppressedPage)) === 0) {
            return { isOver: true };
          }
        }
        return { isOver: false };
      }),
  };
}
