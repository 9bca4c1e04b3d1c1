import { randomUUID } from 'node:crypto';
import { takeAllowances } from '../../../db/billing/billing.ts';
import { listStopped } from '../../../db/transactions/mail/recheck.ts';
import type { AttemptNotes } from '../../../providers/journal/writer.ts';
import type { PoolProvider } from '../../../providers/mail-pool.ts';
import type { Batch, CampaignChunk, Sendable, SendingServices } from './batch.ts';
import {
  type BatchProvider,
  type BatchProviders,
  openDefault,
  openRouted,
} from './batch-providers.ts';
import { listOpened } from './circuit.ts';
import { routingOf } from './routing.ts';
import { handOver } from './hand-over.ts';
import { type HandOver, type Progress, reasonAgainst } from './message-attempt.ts';
import { startRecheck } from './recheck.ts';
import { endClaim, recordOutcomes } from './record-outcomes.ts';

/**
 * Delivers one batch of emails, from the claim to the outcomes. Campaigns, transactional mail and
 * workflow mail share this; system mail does not.
 */

/**
 * Seconds of a claim's lease. A claim that is still open when its lease ends belongs to a dead
 * process.
 */
const leaseSeconds = 120;
/**
 * Milliseconds before the end of a lease in which no message is handed over any more. SES may take
 * this long to respond. An SMTP server may take longer than the lease but, by default, not longer
 * than the settle time after the lease (DELIVERY_SETTLE_MINUTES).
 */
const leaseMarginMs = 60_000;
/**
 * Maximum number of characters of sent bodies that a batch keeps in memory before it records them.
 */
const unrecordedChars = 4 * 1024 * 1024;
/**
 * Maximum number of messages claimed together. If a process dies, the outcome of each message that
 * it has claimed is unknown, so a process claims only messages that it sends at once.
 */
const chunkSize = 50;
/**
 * Milliseconds after which a batch claims no further chunk, so that its outcomes are recorded soon.
 */
const unrecordedMs = 5_000;

interface BatchProgress<E> extends Progress {
  attemptIds: string[];
  /** The journal notes of these attempts. */
  notes: AttemptNotes[];
  emails: E[];
  /** The last chunk that was claimed. */
  chunk: CampaignChunk | undefined;
}

export interface Delivered {
  claimed: number;
  /** The last chunk that was claimed, if the messages belong to a campaign. */
  chunk?: CampaignChunk | undefined;
  /** Milliseconds until the next attempt, if the provider cannot take mail; otherwise null. */
  waitMs: number | null;
  /** True if the rate limit of a provider holds some of the messages back. */
  isOverRate: boolean;
}

/**
 * Delivers one batch in chunks: claim, compose, check again, send. The outcomes are recorded
 * together. A message has one mail provider at a time, and gets another provider only after a
 * refusal. Every committed claim ends in an outcome or is released, unless the process dies.
 * @param stop when aborted, no more messages are sent and the remaining claims are released.
 */
export async function deliverBatch<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  stop: AbortSignal,
): Promise<Delivered> {
  const opened = await openProviders(services, batch);
  if ('waitMs' in opened) return { claimed: 0, isOverRate: false, ...opened };
  const { providers } = opened;
  const max = Math.min(batch.max, opened.max);
  const progress: BatchProgress<E> = {
    attemptIds: [],
    notes: [],
    emails: [],
    chunk: undefined,
    outcomes: [],
    byProvider: new Map(),
    refusedInRow: 0,
    unrecordedChars: 0,
  };
  const { emails, outcomes } = progress;
  const recordBy = Date.now() + unrecordedMs;
  try {
    while (await deliverChunk(services, batch, { max, providers, progress }, stop)) {
      if (emails.length >= max || Date.now() > recordBy) break;
    }
  } finally {
    if (outcomes.length > 0) await recordBatch(services, batch, progress, stop);
    for (const provider of providers.all) await provider.leave(services);
  }
  if (progress.fault) throw progress.fault;
  const isOverRate = outcomes.some((outcome) => outcome.kind === 'released' && outcome.delayMs);
  return { claimed: emails.length, chunk: progress.chunk, waitMs: null, isOverRate };
}

/** Returns the providers that the batch may use, or the milliseconds to wait if it may use none. */
async function openProviders<E extends Sendable>(
  services: SendingServices,
  { projectId, isRouted }: Batch<E>,
): Promise<{ providers: BatchProviders; max: number } | { waitMs: number }> {
  const { mailPool, mailer, routes } = services;
  const byDefault: PoolProvider = { ...mailPool.default, mailer };
  if (!isRouted && routes.length === 0) return openDefault(services, byDefault);
  const routing = await routingOf(services, projectId);
  return { providers: await openRouted(services, byDefault, routing), max: Infinity };
}

async function recordBatch<E extends Sendable>(
  services: SendingServices,
  { projectId, campaign }: Batch<E>,
  { attemptIds, outcomes, emails, chunk, notes, byProvider }: BatchProgress<E>,
  stop: AbortSignal,
): Promise<void> {
  const attempt = {
    projectId,
    attemptIds,
    outcomes,
    claimed: emails,
    ...(campaign && chunk && { campaign: { ...campaign, chunk } }),
  };
  await recordOutcomes(services, attempt, stop);
  for (const each of notes) each.end();
  for (const [{ provider }, own] of byProvider) {
    services.metrics.countOutcomes(labelOf(provider), own);
  }
}

/** Returns the label of a provider in the metrics. All providers of projects share one label. */
function labelOf({ id, scope, mailer }: PoolProvider): string {
  if (scope === 'project') return 'project';
  return id === 'default' ? mailer.provider : id;
}

interface ChunkContext<E> {
  /** Maximum number of messages in the chunk. */
  max: number;
  providers: BatchProviders;
  progress: BatchProgress<E>;
}

/** Delivers one chunk. Returns true if there may be more to deliver. */
async function deliverChunk<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  { max: batchMax, providers, progress }: ChunkContext<E>,
  stop: AbortSignal,
): Promise<boolean> {
  const { projectId, campaign } = batch;
  const campaignId = campaign?.id ?? null;
  if (!(await services.mailGate.pass(stop))) return false;
  const claimedAt = performance.now();
  const handOverUntil = Date.now() + leaseSeconds * 1000 - leaseMarginMs;
  const max = Math.min(chunkSize, batchMax - progress.emails.length);
  const ready = await claimChunk(services, batch, { max, providers, progress }, stop);
  if (!ready) return false;
  const isOver = () =>
    stop.aborted ||
    // The claim may be missing in a restored database, so its mail could be sent once more.
    !services.mailGate.isOpen() ||
    progress.fault !== undefined ||
    progress.unrecordedChars > unrecordedChars ||
    (providers.routing === null && providers.default.hasFailed()) ||
    Date.now() > handOverUntil ||
    (campaign !== undefined &&
      campaign.pauseOnFailures > 0 &&
      progress.refusedInRow >= campaign.pauseOnFailures);
  const holders = new Map(
    ready.emails.map(({ id, chosen }) => [
      id,
      chosen && providers.routing ? providers.routing.providerOf(chosen) : providers.default,
    ]),
  );
  const ids = ready.emails.map(({ id }) => id);
  const recheck = startRecheck(ids, claimedAt, (emailIds) =>
    listHalted(services, { projectId, campaignId, emailIds }, holders),
  );
  const urgent = campaign === undefined;
  const chunk = campaign && progress.chunk;
  const given = { chunk, providers, holders, progress, isOver, recheck, urgent, stop, ...ready };
  try {
    await handOver(services, given);
  } finally {
    recheck.close();
  }
  return ready.emails.length === max && !isOver();
}

/** Claims the messages of a chunk, and prepares their content. Returns null if there are none. */
async function claimChunk<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  { max, providers, progress }: ChunkContext<E>,
  stop: AbortSignal,
): Promise<Pick<HandOver<E>, 'attemptId' | 'emails' | 'overLimit' | 'compose' | 'notes'> | null> {
  const { projectId, campaign } = batch;
  const attemptId = randomUUID();
  const campaignId = campaign?.id ?? null;
  const notes = services.journal.claim({ attemptId, projectId, campaignId });
  let ready: Pick<HandOver<E>, 'emails' | 'overLimit' | 'compose'>;
  try {
    const chooser = providers.routing;
    const { emails, chunk } = await batch.claim({ attemptId, leaseSeconds, max, chooser });
    progress.chunk = chunk;
    if (emails.length === 0) {
      notes.end();
      return null;
    }
    if (chunk) notes.content({ version: chunk.contentVersion, throttledAt: chunk.throttledAt });
    // Mail that will not be sent must not use up the project's allowance.
    const meant = emails.filter((email) => reasonAgainst(email) === null);
    const overLimit = await takeAllowances(services.db, services.billingRules, projectId, meant);
    ready = { emails, overLimit, compose: await batch.prepare(emails) };
  } catch (error) {
    // The claim may have been committed even if the call failed. Releasing it is safe, because no
    // message has been given to a mail provider yet.
    await endClaim(services, projectId, stop, () => batch.release(attemptId));
    notes.end();
    throw error;
  }
  // The claim's count of refusals is used only before the first chunk, because the count of this
  // batch is newer afterwards.
  if (progress.emails.length === 0) progress.refusedInRow = progress.chunk?.refusedInRow ?? 0;
  progress.attemptIds.push(attemptId);
  progress.notes.push(notes);
  progress.emails.push(...ready.emails);
  return { attemptId, notes, ...ready };
}

/**
 * Returns the ids of claimed messages that must no longer be given to their provider, because they
 * must not be sent any more or the provider's circuit has opened.
 */
async function listHalted(
  services: SendingServices,
  given: Parameters<typeof listStopped>[1],
  holders: ReadonlyMap<string, BatchProvider>,
): Promise<string[]> {
  const openable = new Set(given.emailIds.flatMap((id) => holders.get(id) ?? []));
  const names = [...openable].flatMap(({ isOpenable, provider }) =>
    isOpenable ? provider.mailer.provider : [],
  );
  const opened = await listOpened(services, names);
  const isOpened = (id: string) => opened.has(holders.get(id)?.provider.mailer.provider ?? '');
  const emailIds = given.emailIds.filter((id) => !isOpened(id));
  const halted = given.emailIds.filter(isOpened);
  return emailIds.length === 0
    ? halted
    : [...halted, ...(await listStopped(services.db, { ...given, emailIds }))];
}
