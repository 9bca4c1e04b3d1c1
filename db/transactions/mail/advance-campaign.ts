import { sql } from 'kysely';
import {
  type CampaignRef,
  type CampaignRow,
  lockCampaign,
  updateCampaign,
  insertCampaignContent,
} from '../../campaigns/campaigns.ts';
import { type CampaignWork, findCampaignWork } from '../../campaigns/emails.ts';
import { advanceExperiment, insertExperiment } from '../../campaigns/experiments.ts';
import { type Database, transact } from '../../database.ts';
import { readCircuit } from '../../delivery/provider-circuit.ts';
import {
  type SendingRates,
  deleteCampaignBucket,
  findTokensDue,
} from '../../delivery/send-rate.ts';
import { findSenderDomain } from '../../domains/domains.ts';
import { readSendPolicy } from '../../projects/send-policy.ts';
import { decideExperiment } from '../campaigns/decide-experiment.ts';
import type { CampaignPhase } from '../../../domain/campaign/campaign.ts';
import type { Experiment } from '../../../domain/experiment/experiment.ts';
import { domainOf } from '../../../domain/email-address.ts';
import type { ZonePolicy } from '../../../domain/time/zones.ts';

/** Milliseconds until a campaign checks unknown outcomes again. */
const unsettledMs = 15_000;

/**
 * Starts, cancels or completes a campaign if its row and the time require it, or decides its
 * experiment, and returns its phase. May be repeated.
 * @param sending.isForAll true if routes of the installation decide about all mail
 */
export async function advanceCampaign(
  db: Database,
  ref: CampaignRef,
  sending: SendingLimits,
): Promise<CampaignPhase> {
  const reached = await findPhase(db, ref, sending);
  if (!('due' in reached)) return reached;
  await decideExperiment(db, ref, reached.due);
  return advanceCampaign(db, ref, sending);
}

interface SendingLimits {
  provider: string;
  rates: SendingRates;
  isForAll: boolean;
}

/** An experiment that must be decided, before the phase of its campaign is known. */
interface DueExperiment {
  due: Experiment;
}

async function findPhase(
  db: Database,
  { projectId, campaignId }: CampaignRef,
  sending: SendingLimits,
): Promise<CampaignPhase | DueExperiment> {
  return transact(db, async (tx) => {
    const row = await lockCampaign(tx, projectId, campaignId);
    // The campaign was deleted, maybe while messages were still waiting.
    if (!row) return { phase: 'cancelled' };
    await sql`update campaign set reconciled_at = now() where id = ${campaignId}`.execute(tx);
    const isOpen = row.status === 'SCHEDULED' || row.status === 'SENDING';
    if (isOpen && row.held_at !== null) return { phase: 'paused', ...countsOf(row) };
    switch (row.status) {
      case 'SCHEDULED':
        return scheduledPhase(tx, row);
      case 'SENDING':
        return sendingPhase(tx, row, sending);
      case 'PAUSED':
        return { phase: isFreezing(row) ? 'sending' : 'paused', ...countsOf(row) };
      case 'CANCELLED':
        await deleteCampaignBucket(tx, campaignId);
        return { phase: 'cancelled' };
      case 'DRAFT':
      case 'SENT':
        return { phase: 'over', ...countsOf(row) };
    }
  });
}

/**
 * Returns true while messages must still be inserted. A paused campaign continues to insert them.
 */
function isFreezing(row: CampaignRow): boolean {
  return row.frozen_at !== null && !row.audience_fixed;
}

function countsOf(row: CampaignRow) {
  return { sent: row.sent_count, total: row.total_recipients };
}

async function scheduledPhase(tx: Database, row: CampaignRow): Promise<CampaignPhase> {
  const { rows } = await sql<{ ms: number; disabled: boolean }>`
    select ceil(extract(epoch from ${row.scheduled_for}::timestamptz - clock_timestamp())
          * 1000)::float8 as ms,
        disabled_reason is not null as disabled
      from project where id = ${row.project_id}`.execute(tx);
  const { ms = 0, disabled = true } = rows[0] ?? {};
  if (ms > 0) {
    return { phase: 'scheduled', waitMs: ms, startsAt: row.scheduled_for?.toISOString() ?? '' };
  }
  if (disabled || !(await areSendersVerified(tx, row))) {
    await updateCampaign(tx, row.id, { status: 'CANCELLED' });
    return { phase: 'cancelled' };
  }
  await startCampaign(tx, row);
  return { phase: 'sending', ...countsOf(row) };
}

/** Returns true if all domains that the mail of a campaign is sent from are verified. */
async function areSendersVerified(tx: Database, row: CampaignRow): Promise<boolean> {
  const arms = row.experiment?.arms ?? [];
  const senders = [row.from_email, ...arms.flatMap(({ from }) => from ?? [])];
  for (const domain of new Set(senders.map(domainOf))) {
    const found = await findSenderDomain(tx, row.project_id, domain);
    if (found?.status !== 'verified') return false;
  }
  return true;
}

async function sendingPhase(
  tx: Database,
  row: CampaignRow,
  sending: SendingLimits,
): Promise<CampaignPhase | DueExperiment> {
  const counts = countsOf(row);
  if (!row.audience_fixed) return { phase: 'sending', ...counts };
  const work = await findCampaignWork(tx, row.id);
  if (work.retryMs === 0) return { phase: 'sending', ...counts };
  let decisionMs: number | null = null;
  if (row.experiment) {
    const isTestSent = work.nextDueMs === null && !work.isUnsettled;
    const { waitMs, hasRest } = await advanceExperiment(tx, row.id, isTestSent);
    if (waitMs === 0) return { due: row.experiment };
    if (hasRest) work.nextDueMs = 0;
    decisionMs = waitMs;
  }
  const working = await workingPhase(tx, row, work, sending);
  const until = waitUntil(working, { for: 'decision', waitMs: decisionMs, ...counts });
  const phase = waitUntil(until, { for: 'retry', waitMs: work.retryMs, ...counts });
  if (phase) return phase;
  await deleteCampaignBucket(tx, row.id);
  const { rows } = await sql<{ total: number }>`
    update campaign set status = 'SENT', sent_at = coalesce(sent_at, now()), updated_at = now()
      where id = ${row.id}
      returning total_recipients as total`.execute(tx);
  return { phase: 'over', ...counts, ...rows[0] };
}

/**
 * Returns `phase`, or a phase that waits for `waitMs` if the campaign must be checked earlier than
 * `phase` would check it. `phase` null: there is no other reason to check. `waitMs` null: no such
 * check is needed.
 */
function waitUntil(
  phase: CampaignPhase | null,
  { waitMs, ...wait }: Omit<WaitingPhase, 'phase' | 'waitMs'> & { waitMs: number | null },
): CampaignPhase | null {
  if (waitMs === null) return phase;
  if (phase && (phase.phase !== 'waiting' || phase.waitMs <= waitMs)) return phase;
  return { phase: 'waiting', waitMs, ...wait };
}

type WaitingPhase = Extract<CampaignPhase, { phase: 'waiting' }>;

/** Returns the phase of a campaign that has messages to send or to settle; null: it has none. */
async function workingPhase(
  tx: Database,
  row: CampaignRow,
  { nextDueMs, isUnsettled, isRouted }: CampaignWork,
  { provider, rates, isForAll }: SendingLimits,
): Promise<CampaignPhase | null> {
  const counts = countsOf(row);
  if (nextDueMs === 0) {
    // With routes the circuit is not read, because mail that waits for a provider is due later.
    const circuit = isRouted || isForAll ? null : await readCircuit(tx, provider);
    const own = { campaignId: row.id, maxPerMinute: row.max_per_minute };
    const waitMs = circuit?.waitMs ?? (await findTokensDue(tx, rates, row.project_id, own));
    if (waitMs > 0) return { phase: 'waiting', for: 'retry', waitMs, ...counts };
    return { phase: 'sending', ...counts };
  }
  if (nextDueMs !== null) return { phase: 'waiting', for: 'retry', waitMs: nextDueMs, ...counts };
  return isUnsettled ? { phase: 'waiting', for: 'outcome', waitMs: unsettledMs, ...counts } : null;
}

/**
 * Starts a locked campaign: it becomes SENDING, its audience is fixed as of now, and its content is
 * stored. If it is sent at a local time, the settings that decide the time zones of its contacts
 * are stored, too.
 */
export async function startCampaign(
  tx: Database,
  { id, project_id: projectId, local_time: localTime }: StartedCampaign,
): Promise<void> {
  await tx
    .updateTable('campaign')
    .set({
      status: 'SENDING',
      frozen_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`now()`,
      ...(localTime === null ? {} : { zone_policy: await zonePolicyOf(tx, projectId) }),
    })
    .where('id', '=', id)
    .execute();
  await insertCampaignContent(tx, id);
  await insertExperiment(tx, id);
}

type StartedCampaign = Pick<CampaignRow, 'id' | 'project_id' | 'local_time'>;

async function zonePolicyOf(tx: Database, projectId: string): Promise<string> {
  const { timeZone, contactTimeZoneField } = await readSendPolicy(tx, projectId);
  return JSON.stringify({ timeZone, contactTimeZoneField } satisfies ZonePolicy);
}
