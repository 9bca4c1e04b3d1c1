import { randomUUID } from 'node:crypto';
import { type BillingRules, type ClaimedShare, takeAllowances } from '../../db/billing/billing.ts';
import type { ChunkOrigin } from '../../db/transactions/mail/claims.ts';
import type { DeliveryOutcome } from '../../db/transactions/mail/attempts.ts';
import { listStopped } from '../../db/transactions/mail/recheck.ts';
import type { SendingRates } from '../../db/delivery/send-rate.ts';
import { domainOf } from '../../domain/email-address.ts';
import { providerFailuresMax } from '../../domain/runs/retry.ts';
import { type Sign, type TrackingSetting, isTracked } from '../../domain/mail/tracking.ts';
import type { Journal } from '../../providers/journal/journal.ts';
import type { AttemptNotes } from '../../providers/journal/writer.ts';
import type { Mailer } from '../../providers/mail/mailer.ts';
import type { Metrics } from '../../providers/metrics.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import {
  type CircuitPermit,
  type CircuitServices,
  enterCircuit,
  hasOpened,
  leaveCircuit,
} from './circuit.ts';
import { type Semaphore, createSemaphore } from './semaphore.ts';
import {
  type Attempted,
  deliveryOutcomeOf,
  isProviderFailure,
  type OutcomeRules,
} from './outcomes.ts';
import { type Recheck, startRecheck } from './recheck.ts';
import { endClaim, recordOutcomes } from './record-outcomes.ts';
import type { MessageClass } from '../../domain/mail/headers.ts';
import type { Suppression } from '../../domain/mail/suppression.ts';
import { suppressionReason } from '../../domain/mail/send-decision.ts';
import type { WithheldReason } from '../../domain/outcomes/outcome.ts';

/**
 * Delivers one batch of emails, from the claim to the outcomes. Campaigns, transactional mail and
 * workflow mail share this; system mail does not.
 */

export interface SendingServices extends CircuitServices, OutcomeRules {
  metrics: Pick<Metrics, 'countOutcomes'>;
  journal: Pick<Journal, 'claim'>;
  rates: SendingRates;
  returnPaths: Pick<ReturnPaths, 'pathOf'>;
  /** null: the mail provider inserts pixel and links, if any. */
  tracking: Tracking | null;
  /** null: billing is off. */
  billingRules: BillingRules;
}

export interface Tracking {
  apiUrl: string;
  sign: Sign;
}

/** The columns of a claimed message that every sender needs. */
export interface Sendable extends ClaimedShare, Attempted {
  id: string;
  project_id: string;
  from_email: string;
  message_class: string;
  contact_email: string;
  contact_subscribed: boolean;
  project_disabled: boolean;
  /** The sender domain was removed or lost its verification while the message waited. */
  sender_gone: boolean;
  /** The contact is being erased. */
  contact_gone: boolean;
  /** The suppression list's entry for the address. */
  suppression: Suppression | null;
  /** The contact has left the topic of the message. */
  topic_left: boolean;
  /**
   * State of the opt-in request that the message asks to confirm; null or absent: it is no
   * confirmation mail.
   */
  opt_in_state?: string | null;
  /** Why the message must not be sent, as decided with its claim. */
  withheld?: WithheldReason;
  project_tracking: TrackingSetting;
  /** The attachments of the message; absent: the sender allows none. */
  attachments?: readonly { bytes: number }[];
  /** The body of the message, if it was rendered earlier. */
  body?: string | null;
}

/** A composed message, with the content that its row does not have yet. */
export interface Composed {
  raw: Buffer;
  content?: DeliveryOutcome['content'];
}

/** The content cannot be loaded now. The message itself is valid, so the batch is released. */
export class ContentUnavailable extends Error {}

/** Thrown while composing: the body exceeds the size limit. The message is not sent. */
export class BodyTooLarge extends Error {}

export interface Batch<E extends Sendable> {
  projectId: string;
  /** Maximum number of messages to deliver. */
  max: number;
  /** Claims messages for an attempt, and commits. */
  claim(attempt: { attemptId: string; leaseSeconds: number; max: number }): Promise<Claimed<E>>;
  /** Releases the messages that an attempt has claimed, if none was given to the mail provider. */
  release(attemptId: string): Promise<void>;
  /**
   * Loads the parts that the messages share. Returns a function that composes each. This function
   * may throw ContentUnavailable (the rest of the batch is released and the batch fails) and
   * BodyTooLarge (only this message is not sent).
   */
  prepare(
    emails: readonly E[],
  ): Promise<(email: E, tracking: Tracking | null) => Composed | Promise<Composed>>;
  /** Set when all messages belong to this campaign. */
  campaign?: {
    id: string;
    /** Number of consecutive refusals after which sending stops; 0: never. */
    pauseOnFailures: number;
  };
}

/**
 * Claimed messages. The messages of a campaign come from one chunk, so a claim should not ask for
 * more than a chunk holds.
 */
export interface Claimed<E> {
  emails: readonly E[];
  /** Undefined without a campaign, or when no chunk was free. */
  chunk?: CampaignChunk | undefined;
}

/** Values that the messages of a chunk share. */
export interface CampaignChunk extends ChunkOrigin {
  /** Number of consecutive refusals of the campaign's mail before this chunk. */
  refusedInRow: number;
  /**
   * Maximum number of messages that the campaign may send per minute; null: the campaign sets no
   * limit.
   */
  maxPerMinute: number | null;
}

/**
 * Seconds of a claim's lease. If a claim is still open at the end of its lease, its process counts
 * as dead.
 */
const leaseSeconds = 120;
/**
 * Milliseconds before the end of a lease in which no message is given to the mail provider: as long
 * as SES may take to respond. An SMTP server may take longer than the lease, but by default not
 * longer than the settle time after the lease.
 */
const leaseMarginMs = 60_000;
/**
 * Limits the attachments of all messages that this process is sending, in bytes: enough for four
 * messages with the largest attachments (10 MB by default). Each byte is in memory about four
 * times: as stored, in base64 and in the message.
 */
const filesUnderWay = createSemaphore(40 * 1024 * 1024);
/**
 * Limits the bodies of all messages that this process is sending, in characters: enough for six of
 * the largest. Each character is in memory about ten times: in the document, with tracked links, as
 * text, each of them encoded, and in the message.
 */
const bodiesUnderWay = createSemaphore(12 * 1024 * 1024);
/**
 * Maximum number of characters of sent bodies that a batch keeps in memory before it records them.
 */
const unrecordedChars = 4 * 1024 * 1024;
/**
 * Limits the number of messages that this process is sending to a provider, for all batches
 * together. A message waits here for a connection, because its lease is checked after this wait.
 * The wait in the mailer is short enough for the margin of the lease.
 */
const connectionsByMailer = new WeakMap<Mailer, Semaphore>();
/**
 * Maximum number of messages claimed at once. When a process dies, the outcome of each message that
 * it had claimed is unknown. So a process claims only messages that it sends at once.
 */
const chunkSize = 50;
/**
 * Milliseconds after which a batch claims no further chunk, so that its outcomes are recorded soon.
 */
const unrecordedMs = 5_000;

interface Progress<E> {
  attemptIds: string[];
  /** The notes of these attempts. */
  notes: AttemptNotes[];
  emails: E[];
  /** The last chunk claimed. */
  chunk: CampaignChunk | undefined;
  outcomes: DeliveryOutcome[];
  /** Number of consecutive messages that the provider refused. */
  refusedInRow: number;
  /** Number of consecutive messages that failed because the provider could not take mail. */
  failedInRow: number;
  /** Number of characters of bodies in the outcomes that are not recorded yet. */
  unrecordedChars: number;
  /** Set when the content of messages cannot be loaded, so that no more messages are composed. */
  fault?: ContentUnavailable;
}

export interface Delivered {
  claimed: number;
  /** The last chunk claimed, if the messages belong to a campaign. */
  chunk?: CampaignChunk | undefined;
  /** Milliseconds until the next attempt, if the provider cannot take mail; otherwise null. */
  waitMs: number | null;
}

/**
 * Delivers one batch in chunks: claim, compose, check again, send. The outcomes are recorded
 * together. A message is given to the mail provider at most once for each claim. Every committed
 * claim ends in an outcome or is released, unless the process dies.
 * @param stop when aborted, no more messages are sent and the remaining claims are released.
 */
export async function deliverBatch<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  stop: AbortSignal,
): Promise<Delivered> {
  const permit = await enterCircuit(services);
  if ('waitMs' in permit) return { claimed: 0, ...permit };
  const max = Math.min(batch.max, permit.max);
  const { projectId, campaign } = batch;
  const progress: Progress<E> = {
    attemptIds: [],
    notes: [],
    emails: [],
    chunk: undefined,
    outcomes: [],
    refusedInRow: 0,
    failedInRow: 0,
    unrecordedChars: 0,
  };
  const { attemptIds, emails, outcomes } = progress;
  const recordBy = Date.now() + unrecordedMs;
  try {
    while (await deliverChunk(services, batch, { max, permit, progress }, stop)) {
      if (emails.length >= max || Date.now() > recordBy) break;
    }
  } finally {
    if (outcomes.length > 0) {
      const attempt = {
        projectId,
        attemptIds,
        outcomes,
        claimed: emails,
        ...(campaign && progress.chunk && { campaign: { ...campaign, chunk: progress.chunk } }),
      };
      await recordOutcomes(services, attempt, stop);
      for (const notes of progress.notes) notes.end();
      services.metrics.countOutcomes(services.mailer.provider, outcomes);
    }
    await leaveCircuit(services, permit, outcomes);
  }
  if (progress.fault) throw progress.fault;
  return { claimed: emails.length, chunk: progress.chunk, waitMs: null };
}

/** Delivers one chunk. Returns true if there may be more to deliver. */
async function deliverChunk<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  {
    max: batchMax,
    permit,
    progress,
  }: { max: number; permit: CircuitPermit; progress: Progress<E> },
  stop: AbortSignal,
): Promise<boolean> {
  const { db } = services;
  const { projectId, campaign } = batch;
  const attemptId = randomUUID();
  const campaignId = campaign?.id ?? null;
  const notes = services.journal.claim({ attemptId, projectId, campaignId });
  const claimedAt = performance.now();
  const handOverUntil = Date.now() + leaseSeconds * 1000 - leaseMarginMs;
  const max = Math.min(chunkSize, batchMax - progress.emails.length);
  let ready: Pick<HandOver<E>, 'emails' | 'overLimit' | 'compose'>;
  try {
    const { emails, chunk } = await batch.claim({ attemptId, leaseSeconds, max });
    progress.chunk = chunk;
    if (emails.length === 0) {
      notes.end();
      return false;
    }
    if (chunk) notes.content({ version: chunk.contentVersion, throttledAt: chunk.throttledAt });
    // Mail that will not be sent must not count against the allowance of the project.
    const meant = emails.filter((email) => reasonAgainst(email) === null);
    const overLimit = await takeAllowances(db, services.billingRules, projectId, meant);
    ready = { emails, overLimit, compose: await batch.prepare(emails) };
  } catch (error) {
    // The claim may have been committed even if the call failed. A release is safe, because nothing
    // has been given to the mail provider yet.
    await endClaim(services, projectId, stop, () => batch.release(attemptId));
    notes.end();
    throw error;
  }
  // The count of the claim is used for the first chunk only. Later, the count of this batch is
  // newer.
  if (progress.emails.length === 0) progress.refusedInRow = progress.chunk?.refusedInRow ?? 0;
  progress.attemptIds.push(attemptId);
  progress.notes.push(notes);
  progress.emails.push(...ready.emails);
  const isOver = () =>
    stop.aborted ||
    progress.fault !== undefined ||
    progress.unrecordedChars > unrecordedChars ||
    progress.failedInRow >= providerFailuresMax ||
    Date.now() > handOverUntil ||
    (campaign !== undefined &&
      campaign.pauseOnFailures > 0 &&
      progress.refusedInRow >= campaign.pauseOnFailures);
  const ids = ready.emails.map(({ id }) => id);
  const recheck = startRecheck(ids, claimedAt, async (emailIds) =>
    (await hasOpened(services, permit))
      ? emailIds
      : listStopped(db, { projectId, campaignId, emailIds }),
  );
  try {
    await handOver(services, {
      progress,
      notes,
      isOver,
      recheck,
      urgent: campaign === undefined,
      ...ready,
    });
  } finally {
    recheck.close();
  }
  return ready.emails.length === max && !isOver();
}

interface HandOver<E extends Sendable> {
  emails: readonly E[];
  overLimit: ReadonlySet<string>;
  compose: (email: E, tracking: Tracking | null) => Composed | Promise<Composed>;
  progress: Progress<E>;
  notes: AttemptNotes;
  /** Returns true if no further message should be given to the mail provider. */
  isOver: () => boolean;
  recheck: Recheck;
  /** True if this mail goes before other mail. */
  urgent: boolean;
}

/** Returns why a message must not be sent, by the values read with its claim; null: send it. */
function reasonAgainst(email: Sendable): WithheldReason | null {
  return email.withheld ?? suppressionReason(email);
}

/**
 * Gives claimed messages to the mail provider, with as much concurrency as it allows. Never throws.
 */
async function handOver<E extends Sendable>(
  services: SendingServices,
  { emails, overLimit, isOver, urgent, ...given }: HandOver<E>,
): Promise<void> {
  const { progress, recheck } = given;
  const { outcomes } = progress;
  const connections = connectionsOf(services.mailer);
  async function attempt(email: E): Promise<DeliveryOutcome> {
    if (isOver()) return { emailId: email.id, kind: 'released' };
    const reason = reasonAgainst(email) ?? (overLimit.has(email.id) ? 'billing_limit' : null);
    if (reason) return { emailId: email.id, kind: 'withheld', reason };
    const outcome = await deliver(services, email, given);
    if (outcome.kind === 'accepted') progress.refusedInRow = 0;
    if (outcome.kind === 'refused') progress.refusedInRow += 1;
    if (isProviderFailure(outcome)) progress.failedInRow += 1;
    else if (outcome.kind === 'accepted' || outcome.kind === 'refused') progress.failedInRow = 0;
    return outcome;
  }
  const left = emails.values();
  async function attemptNext(): Promise<void> {
    for (const email of left) {
      const needed: [Semaphore, number][] = [
        [filesUnderWay, bytesOf(email)],
        [bodiesUnderWay, email.body?.length ?? 0],
        [connections, 1],
      ];
      const releases: (() => void)[] = [];
      for (const [room, amount] of needed) {
        releases.push(room.tryAcquire(amount) ?? (await room.acquire(amount, { urgent })));
      }
      outcomes.push(await attempt(email));
      recheck.done(email.id);
      for (const release of releases) release();
    }
  }
  const parallelism = Math.min(services.mailer.maxConcurrency, emails.length);
  await Promise.all(Array.from({ length: parallelism }, attemptNext));
}

function connectionsOf(mailer: Mailer): Semaphore {
  const known = connectionsByMailer.get(mailer) ?? createSemaphore(mailer.maxConcurrency);
  connectionsByMailer.set(mailer, known);
  return known;
}

/**
 * Counts the bytes of a message's attachments. A damaged row counts as 0: the message fails when it
 * is composed.
 */
function bytesOf({ attachments }: Sendable): number {
  if (!Array.isArray(attachments)) return 0;
  return attachments.reduce((sum: number, file: { bytes: number }) => sum + file.bytes, 0);
}

/** Gives one message to the mail provider. Never throws. */
async function deliver<E extends Sendable>(
  services: SendingServices,
  email: E,
  {
    compose,
    progress,
    recheck,
    notes,
  }: Pick<HandOver<E>, 'compose' | 'progress' | 'recheck' | 'notes'>,
): Promise<DeliveryOutcome> {
  const { mailer, returnPaths, tracking } = services;
  const emailId = email.id;
  // A confirmation mail is not tracked, because only its reader may see the link.
  const tracked =
    !email.opt_in_state && isTracked(email.project_tracking, email.message_class as MessageClass);
  let composed: Composed;
  try {
    const made = compose(email, tracked ? tracking : null);
    composed = made instanceof Promise ? await made : made;
  } catch (error) {
    if (error instanceof ContentUnavailable) {
      progress.fault = error;
      return { emailId, kind: 'released' };
    }
    if (error instanceof BodyTooLarge) {
      return { emailId, kind: 'withheld', reason: 'message_too_large' };
    }
    // An internal error must not affect the rest of the batch.
    const failed = { kind: 'retry', error: String(error), isAboutMessage: true } as const;
    return deliveryOutcomeOf(email, failed, undefined, services);
  }
  await recheck.renew();
  const domain = domainOf(email.from_email);
  const answer = await mailer.send({
    emailId,
    mayBegin: () => recheck.mayBegin(emailId),
    notes: notes.messageNotes(emailId),
    envelopeFrom: returnPaths.pathOf(emailId, domain),
    senderDomain: { projectId: email.project_id, domain },
    to: email.to_email,
    raw: composed.raw,
    tracked: tracked && tracking === null,
  });
  const { content } = composed;
  progress.unrecordedChars += charsOf(content);
  return deliveryOutcomeOf(email, answer, content, services);
}

function charsOf(content: Composed['content']): number {
  if (!content) return 0;
  if ('body' in content) return content.body.length;
  return content.values.reduce((sum, value) => sum + value.length, 0);
}
