import {
  type CampaignMail,
  countCampaignMail,
  countWaitingMail,
  measureSpeed,
  readSendingState,
  type WaitingMail,
} from '../../db/delivery/state.ts';
import { type Fleet, findFleet } from '../../db/delivery/workers.ts';
import { readReportCounts, type ReportCounts } from '../../db/delivery/report-counts.ts';
import { type DeliveryLimit, limitOf } from '../../domain/mail/delivery-limit.ts';
import type { Services } from '../services/services.ts';

/** Reads the state of mail delivery. The values may be a few seconds old. */

type Sources = Pick<Services, 'db' | 'config' | 'recent'>;

/** Reads the workers of this installation, and the rates at which they may send. */
export function readFleet({ db, recent }: Pick<Services, 'db' | 'recent'>): Promise<Fleet> {
  return recent.get('fleet', () => findFleet(db));
}

export interface Delivery extends WaitingMail {
  perSecond: number;
  limitedBy: DeliveryLimit | null;
  workers: number;
  reports: ReportCounts;
}

export function readDelivery(services: Sources, projectId: string): Promise<Delivery> {
  const { db, config, recent } = services;
  return recent.get(`delivery ${projectId}`, async () => {
    const fleet = await readFleet(services);
    const { workers } = fleet;
    const rates = fleet.rates ?? {
      perSecond: config.mail.ratePerSecond ?? 0,
      perProjectPerSecond: config.mail.ratePerProjectPerSecond,
    };
    const [waiting, perSecond, state, reports] = await Promise.all([
      countWaitingMail(db, projectId),
      measureSpeed(db, { projectId }),
      readSendingState(db, projectId, { provider: fleet.provider, rates }),
      readReportCounts(db, projectId),
    ]);
    const { due, down, operator } = waiting;
    const isProviderOut = state.isProviderOut || (down > 0 && down === due);
    const mail = { due, operator, isProviderOut, perSecond };
    const limitedBy = limitOf({ ...state, ...mail, workers, rates });
    return { ...waiting, perSecond, limitedBy, workers, reports };
  });
}

export interface Progress {
  perSecond: number;
  limitedBy: DeliveryLimit | null;
  /** Mail that waits for the local time of its contact. */
  scheduledCount: number;
  estimatedEndAt: Date | null;
  oldestDueAt: Date | null;
}

export function readProgress(
  services: Sources,
  campaign: {
    id: string;
    project_id: string;
    audience_fixed: boolean;
    max_per_minute: number | null;
    held_at: Date | null;
  },
): Promise<Progress> {
  const { db, recent } = services;
  const { id, project_id: projectId } = campaign;
  return recent.get(`campaign ${id}`, async () => {
    const [delivery, mail, perSecond] = await Promise.all([
      readDelivery(services, projectId),
      countCampaignMail(db, campaign),
      measureSpeed(db, { projectId, campaignId: id }),
    ]);
    const { oldestDueAt, scheduled: scheduledCount } = mail;
    const isWaiting = campaign.held_at !== null;
    // The number of messages is unknown until the audience is fixed.
    const end =
      campaign.audience_fixed && !isWaiting ? estimateEnd(mail, perSecond, new Date()) : null;
    const isHeld = oldestDueAt !== null || delivery.workers === 0;
    const limitedBy = isHeld || isWaiting ? limitOfCampaign(campaign, delivery.limitedBy) : null;
    return { perSecond, limitedBy, scheduledCount, estimatedEndAt: end, oldestDueAt };
  });
}

/**
 * Estimates when the last message will be sent, at the speed `perSecond`. The result is not before
 * `lastAt`, the latest time for which a message waits. Returns null for the speed 0, unless all
 * messages wait for a later time.
 */
function estimateEnd(
  { waiting, due, lastAt }: CampaignMail,
  perSecond: number,
  now: Date,
): Date | null {
  if (perSecond === 0 && (due > 0 || lastAt === null)) return null;
  const ms = perSecond > 0 ? (waiting / perSecond) * 1000 : 0;
  return new Date(Math.max(now.getTime() + ms, lastAt?.getTime() ?? 0));
}

/**
 * Returns the limit that slows a campaign down: the limit of its project, unless this is the
 * `campaign_rate` of another campaign, or the hold of other mail.
 */
function limitOfCampaign(
  campaign: { max_per_minute: number | null; held_at: Date | null },
  ofProject: DeliveryLimit | null,
): DeliveryLimit | null {
  if (campaign.held_at !== null) return 'operator';
  if (ofProject === 'operator') return null;
  return ofProject === 'campaign_rate' && campaign.max_per_minute === null ? null : ofProject;
}
