import { chunkSize, endChunk, queueLeftovers, releaseChunk } from '../../db/campaigns/chunks.ts';
import {
  type CampaignEmail,
  type ClaimedChunk,
  claimCampaignEmails,
} from '../../db/transactions/mail/claim-campaign-mail.ts';
import {
  findCampaignLimits,
  findCampaignWork,
  isCampaignFreezing,
} from '../../db/campaigns/emails.ts';
import type { CampaignRef } from '../../db/campaigns/campaigns.ts';
import { releaseRest } from '../../db/campaigns/experiments.ts';
import { claimingMs } from '../../db/transactions/mail/hold-back.ts';
import { returnSendingTokens, takeSendingTokens } from '../../db/delivery/send-rate.ts';
import type { Renderer } from '../../domain/template/render.ts';
import { createCampaignComposer } from './campaign-mail.ts';
import type { Batch, CampaignChunk, SendingServices } from './batches/batch.ts';
import { deliverBatch } from './batches/deliver.ts';
import type { WaitSlots } from './wait-slots.ts';
import { pause, timeBoxed } from '../running/time-box.ts';

export interface CampaignSending {
  /** Sends due messages in batches, for one time slice. */
  SEND_BATCHES(campaign: CampaignRef): Promise<void>;
}

export interface CampaignServices extends SendingServices {
  apiUrl: string;
  renderer: Renderer;
  /** Number of consecutive refusals after which a campaign is paused; 0: never. */
  pauseOnFailures: number;
}

/**
 * Minimum wait for tokens, in milliseconds. A shorter wait would lead to small batches, and a batch
 * of one message costs as much as a full batch.
 */
const throttleMs = 500;
/**
 * Maximum wait for tokens inside this activity, in milliseconds. For a longer wait, the activity
 * ends and the campaign's run waits.
 */
const throttleMaxMs = 2_000;
/** Milliseconds until the next try while messages of the campaign are still being inserted. */
const freezingMs = 100;
/** Milliseconds to pause when messages are due but none could be sent. */
const heldMs = 1_000;

export function createCampaignSending(
  services: CampaignServices & { waitSlots: WaitSlots },
): CampaignSending {
  const composer = createCampaignComposer(services);
  return {
    SEND_BATCHES: (campaign) =>
      timeBoxed((shouldContinue, stop) =>
        sendBatches(services, composer, campaign, shouldContinue, stop),
      ),
  };
}

async function sendBatches(
  services: CampaignServices & { waitSlots: WaitSlots },
  composer: ReturnType<typeof createCampaignComposer>,
  { projectId, campaignId }: CampaignRef,
  shouldContinue: () => boolean,
  stop: AbortSignal,
): Promise<void> {
  const { db, rates } = services;
  let throttled = false;
  let hasSent = false;
  let limits = await findCampaignLimits(db, campaignId);
  while (shouldContinue()) {
    const campaign = { campaignId, maxPerMinute: limits.maxPerMinute };
    const tokens = await takeSendingTokens(db, rates, projectId, chunkSize, { campaign });
    const { granted, waitMs } = tokens;
    if (granted === 0) {
      throttled = true;
      // The wait is too long, or no wait slot is free. The activity ends, and the campaign's phase
      // says when to continue.
      if (waitMs > throttleMaxMs) return;
      if (!(await services.waitSlots.wait(campaignId, Math.max(waitMs, throttleMs), stop))) return;
      // During the wait, a user may have paused the campaign or changed its limits.
      limits = await findCampaignLimits(db, campaignId);
      continue;
    }
    const batch = batchOf(services, composer, {
      projectId,
      campaignId,
      max: granted,
      throttled,
      isPoliced: limits.isPoliced,
      isRouted: limits.isRouted,
    });
    const delivered = await deliverBatch(services, batch, stop);
    const { claimed, chunk } = delivered;
    if (chunk) limits = { ...limits, maxPerMinute: chunk.maxPerMinute };
    await returnSendingTokens(db, rates, projectId, granted - claimed, campaign);
    // The provider cannot take mail. The activity ends, and the campaign's phase says when to
    // continue.
    if (delivered.waitMs !== null) break;
    throttled ||= granted < chunkSize;
    hasSent ||= claimed > 0;
    // Without a pause, chunks would be claimed and released again and again while the provider has
    // no tokens.
    if (delivered.isOverRate) await pause(throttleMs, stop);
    if (claimed > 0) continue;
    if ((await queueLeftovers(db, { id: campaignId, projectId })) > 0) continue;
    if (limits.hasExperiment && (await releaseRest(db, campaignId)) > 0) continue;
    if (!(await isCampaignFreezing(db, campaignId))) break;
    await pause(freezingMs, stop);
  }
  if (hasSent || stop.aborted) return;
  // Mail is due but none could be sent, for example because the provider cannot take mail. Without
  // a pause, the run would call this activity again and again.
  const { nextDueMs } = await findCampaignWork(db, campaignId);
  if (nextDueMs === 0) await pause(heldMs, stop);
}

/** Returns a batch of a campaign. `deliverBatch` claims its messages, chunk by chunk. */
function batchOf(
  { db, pauseOnFailures }: CampaignServices,
  composer: ReturnType<typeof createCampaignComposer>,
  {
    projectId,
    campaignId,
    max,
    throttled,
    isPoliced,
    isRouted,
  }: {
    projectId: string;
    campaignId: string;
    max: number;
    throttled: boolean;
    isPoliced: boolean;
    isRouted: boolean;
  },
): Batch<CampaignEmail> {
  return {
    projectId,
    max,
    isRouted,
    async claim(attempt) {
      const end = Date.now() + claimingMs;
      for (;;) {
        const claim = { campaignId, isPoliced, ...attempt };
        const claimed = await claimCampaignEmails(db, projectId, claim);
        if (!claimed) return { emails: [] };
        const { emails } = claimed;
        const chunk = chunkOf(claimed.chunk, throttled);
        if (emails.length > 0) return { emails, chunk };
        // No message of the chunk is left to send, because all are held back or their contacts were
        // deleted.
        const none = { left: [], again: new Map<number, string[]>() };
        await endChunk(db, { id: campaignId, projectId }, attempt.attemptId, none);
        if (Date.now() >= end) return { emails: [], chunk };
      }
    },
    release: (attemptId) => releaseChunk(db, campaignId, attemptId),
    prepare: (emails) => composer.prepare(campaignId, emails),
    campaign: { id: campaignId, pauseOnFailures },
  };
}

function chunkOf(
  { attemptId, claimedAt, dueAt, shared }: ClaimedChunk,
  throttled: boolean,
): CampaignChunk {
  const { contentVersion, fromName, replyTo, refusedInRow, maxPerMinute } = shared;
  const throttledAt = throttled ? dueAt : null;
  return {
    attemptId,
    contentVersion,
    fromName,
    replyTo,
    claimedAt,
    throttledAt,
    refusedInRow,
    maxPerMinute,
  };
}
