import { randomUUID } from 'node:crypto';
import { type BillingRules, type ClaimedShare, takeAllowances } from '../../db/billing/billing.ts';
import type { Database } from '../../db/database.ts';
import { releaseClaim } from '../../db/emails/emails.ts';
import type { DeliveryOutcome } from '../../db/emails/outcomes.ts';
import type { SendingRates } from '../../db/emails/send-rate.ts';
import { type MessageClass, needsSubscription } from '../../domain/mail/class-headers.ts';
import { domainOf } from '../../domain/mail/email-address.ts';
import { retryDelayMs, sendAttemptsMax } from '../../domain/workflow/retry.ts';
import { isTracked, type Sign, type TrackingSetting } from '../../domain/mail/tracking.ts';
import type { Mailer, SendOutcome } from '../../providers/mail/mailer.ts';
import type { Dispatcher } from '../../domain/runs.ts';
import { createSemaphore, type Semaphore } from './semaphore.ts';
import { endClaim, recordOutcomes } from './record-outcomes.ts';
import { isSimulated } from './simulator.ts';

/** What every sender shares: one batch of the ledger, from the claim to its outcomes. */

export interface SendingServices {
  db: Database;
  mailer: Mailer;
  dispatcher: Dispatcher;
  rates: SendingRates;
  /** null: left to the mail provider. */
  tracking: Tracking | null;
  /** null: nothing is limited. */
  billingRules: BillingRules;
  log: { warn(details: object, message: string): void };
}

/** What the pixel and the links of Everpost itself are made of. */
export interface Tracking {
  apiUrl: string;
  sign: Sign;
}

/** A claimed message, as far as every sender looks at it. */
export interface Sendable extends ClaimedShare {
  to_email: string;
  from_email: string;
  message_class: string;
  attempts: number;
  contact_email: string;
  contact_subscribed: boolean;
  project_disabled: boolean;
  project_tracking: TrackingSetting;
  /** Its files, where it may have some. */
  attachments?: readonly { bytes: number }[];
  /** Its body, where it was rendered before. */
  body?: string | null;
}

/** A message as it leaves, and what the ledger does not have of it yet. */
export interface Composed {
  raw: Buffer;
  content?: DeliveryOutcome['content'];
}

/** What a message is made of cannot be had now. It is no fault of the message: all go back. */
export class ContentUnavailable extends Error {}

/** Thrown from composing: the body is larger than mail may be. It does not leave. */
export class BodyTooLarge extends Error {}

export interface Batch<E extends Sendable> {
  projectId: string;
  /** Messages delivered at most. */
  max: number;
  /** Claims messages for an attempt, committed. */
  claim(attempt: { attemptId: string; leaseSeconds: number; max: number }): Promise<E[]>;
  /**
   * Makes ready what they have in common. Returns how each is composed.
   * @throws ContentUnavailable from composing: nothing more is handed over, and the batch fails with it;
   *   BodyTooLarge: this message does not leave.
   */
  prepare(
    emails: readonly E[],
  ): Promise<(email: E, tracking: Tracking | null) => Composed | Promise<Composed>>;
  /** Given: all of them are messages of this campaign. */
  campaign?: {
    id: string;
    /** Refusals in a row after which nothing more is handed over; 0: any number. */
    pauseOnFailures: number;
    /** How many there were before this batch. */
    refusedInRow(emails: readonly E[]): number;
  };
}

/** A claim nobody settles within this time belongs to a process that died. */
const leaseSeconds = 120;
/**
 * Nothing is handed over in the last part of a lease, in milliseconds: as long as SES may be silent.
 * An SMTP server that is silent for longer outlasts the lease, but not the settle time after it.
 */
const leaseMarginMs = 60_000;
/**
 * Files of all messages this process has in its hands, in bytes: four messages with as much as a
 * message may have. Each byte is there about four times: as stored, in base64 and in the message.
 */
const filesUnderWay = createSemaphore(40 * 1024 * 1024);
/**
 * Their bodies, in characters: six of the largest. Each is there about ten times: as the document,
 * with tracked links, as text, each of them encoded, and in the message.
 */
const bodiesUnderWay = createSemaphore(12 * 1024 * 1024);
/** Bodies that a batch may have sent and not recorded, in characters. */
const unrecordedChars = 4 * 1024 * 1024;
/**
 * The connections of each provider, which all batches of this process share. A message that has
 * none waits here, where its lease is looked at, and not in the provider's queue.
 */
const connectionsByMailer = new WeakMap<Mailer, Semaphore>();
/**
 * Messages claimed at once. When a process dies, what it had claimed counts as unknown, whether it
 * had left or not: so no more than are about to leave.
 */
const chunkSize = 50;
/** How long outcomes may wait to be recorded together, in milliseconds. */
const unrecordedMs = 5_000;

/** What a batch has come to so far. */
interface Progress<E> {
  attemptIds: string[];
  emails: E[];
  outcomes: DeliveryOutcome[];
  /** Refusals of the provider since it accepted a message. */
  refusedInRow: number;
  /** Bodies among the outcomes, in characters. */
  unrecordedChars: number;
  /** Why no more can be composed now. */
  fault?: ContentUnavailable;
}

/**
 * Delivers one batch, chunk after chunk: claim, last look, compose, hand over; then all outcomes are
 * recorded together. Whatever happens, a message is handed over at most once for each claim, and a
 * claim that is committed ends in an outcome. Returns how many were claimed.
 * @param stop aborted: hands over no more, and releases what it has claimed beyond.
 */
export async function deliverBatch<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  stop: AbortSignal,
): Promise<number> {
  const { dispatcher } = services;
  const { projectId, campaign } = batch;
  const progress: Progress<E> = {
    attemptIds: [],
    emails: [],
    outcomes: [],
    refusedInRow: 0,
    unrecordedChars: 0,
  };
  const { attemptIds, emails, outcomes } = progress;
  const recordBy = Date.now() + unrecordedMs;
  try {
    while (await deliverChunk(services, batch, progress, stop)) {
      if (emails.length >= batch.max || Date.now() > recordBy) break;
    }
  } finally {
    if (outcomes.length > 0) {
      const attempt = {
        projectId,
        attemptIds,
        outcomes,
        claimed: emails,
        ...(campaign && { campaign }),
      };
      for (const due of await recordOutcomes(services, attempt, stop)) dispatcher.dispatch(due);
    }
  }
  if (progress.fault) throw progress.fault;
  return emails.length;
}

/** Returns whether there may be more to deliver. */
async function deliverChunk<E extends Sendable>(
  services: SendingServices,
  batch: Batch<E>,
  progress: Progress<E>,
  stop: AbortSignal,
): Promise<boolean> {
  const { db } = services;
  const { projectId, campaign } = batch;
  const attemptId = randomUUID();
  const handOverUntil = Date.now() + leaseSeconds * 1000 - leaseMarginMs;
  const max = Math.min(chunkSize, batch.max - progress.emails.length);
  let ready: Pick<HandOver<E>, 'emails' | 'overLimit' | 'compose'>;
  try {
    const emails = await batch.claim({ attemptId, leaseSeconds, max });
    if (emails.length === 0) return false;
    const overLimit = await takeAllowances(db, services.billingRules, projectId, emails);
    ready = { emails, overLimit, compose: await batch.prepare(emails) };
  } catch (error) {
    // The claim may be committed, whether we were told or not; nothing has been handed over.
    await endClaim(services, projectId, stop, () => releaseClaim(db, attemptId));
    throw error;
  }
  // What this batch has seen itself is newer than what the claim has read.
  if (progress.emails.length === 0)
    progress.refusedInRow = campaign?.refusedInRow(ready.emails) ?? 0;
  progress.attemptIds.push(attemptId);
  progress.emails.push(...ready.emails);
  const isOver = () =>
    stop.aborted ||
    progress.fault !== undefined ||
    progress.unrecordedChars > unrecordedChars ||
    Date.now() > handOverUntil ||
    (campaign !== undefined &&
      campaign.pauseOnFailures > 0 &&
      progress.refusedInRow >= campaign.pauseOnFailures);
  await handOver(services, { ...ready, progress, isOver, urgent: campaign === undefined });
  return ready.emails.length === max && !isOver();
}

interface HandOver<E extends Sendable> {
  emails: readonly E[];
  overLimit: ReadonlySet<string>;
  compose: (email: E, tracking: Tracking | null) => Composed | Promise<Composed>;
  progress: Progress<E>;
  /** Whether nothing more must be handed over. */
  isOver: () => boolean;
  /** Goes before messages that are not. */
  urgent: boolean;
}

/** Hands claimed messages over, as many at once as the provider takes. Never throws. */
async function handOver<E extends Sendable>(
  services: SendingServices,
  { emails, overLimit, compose, progress, isOver, urgent }: HandOver<E>,
): Promise<void> {
  const { outcomes } = progress;
  const connections = connectionsOf(services.mailer);
  const queue = emails.values();
  async function work(): Promise<void> {
    for (const email of queue) {
      const releaseFiles = await filesUnderWay.acquire(bytesOf(email), { urgent });
      const releaseBody = await bodiesUnderWay.acquire(email.body?.length ?? 0, { urgent });
      const releaseConnection = await connections.acquire(1, { urgent });
      outcomes.push(await attempt(email));
      releaseConnection();
      releaseBody();
      releaseFiles();
    }
  }
  async function attempt(email: E): Promise<DeliveryOutcome> {
    if (isOver()) return { emailId: email.id, kind: 'released' };
    const reason = overLimit.has(email.id) ? 'billing_limit' : suppressionReason(email);
    if (reason) return { emailId: email.id, kind: 'withheld', reason };
    const outcome = await deliver(services, email, compose, progress);
    if (outcome.kind === 'accepted') progress.refusedInRow = 0;
    if (outcome.kind === 'refused') progress.refusedInRow += 1;
    return outcome;
  }
  const workers = Math.min(services.mailer.maxConcurrency, emails.length);
  await Promise.all(Array.from({ length: workers }, work));
}

function connectionsOf(mailer: Mailer): Semaphore {
  const known = connectionsByMailer.get(mailer) ?? createSemaphore(mailer.maxConcurrency);
  connectionsByMailer.set(mailer, known);
  return known;
}

/** Bytes of a message's files. A damaged row has none: it fails when it is composed. */
function bytesOf({ attachments }: Sendable): number {
  if (!Array.isArray(attachments)) return 0;
  return attachments.reduce((sum: number, file: { bytes: number }) => sum + file.bytes, 0);
}

/** Why a message must not leave, or null. Looked at after the claim: it is the last moment. */
function suppressionReason(email: Sendable): string | null {
  if (email.project_disabled) return 'project_disabled';
  const toContact = email.source_type !== 'WORKFLOW' || email.to_email === email.contact_email;
  const isMeant = needsSubscription(email.message_class, email.source_type) && toContact;
  return isMeant && !email.contact_subscribed ? 'contact_unsubscribed' : null;
}

/** Hands one message over. Never throws. */
async function deliver<E extends Sendable>(
  { mailer, tracking }: SendingServices,
  email: E,
  compose: HandOver<E>['compose'],
  progress: Progress<E>,
): Promise<DeliveryOutcome> {
  const emailId = email.id;
  const tracked = isTracked(email.project_tracking, email.message_class as MessageClass);
  let composed: Composed;
  try {
    composed = await compose(email, tracked ? tracking : null);
  } catch (error) {
    if (error instanceof ContentUnavailable) {
      progress.fault = error;
      return { emailId, kind: 'released' };
    }
    if (error instanceof BodyTooLarge) {
      return { emailId, kind: 'withheld', reason: 'message_too_large' };
    }
    // A fault of ours: the others of the batch must not suffer from it.
    return deliveryOutcomeOf(email, { kind: 'retry', error: String(error) });
  }
  const answer = await mailer.send({
    emailId,
    envelopeFrom: `bounce@${domainOf(email.from_email)}`,
    to: email.to_email,
    raw: composed.raw,
    tracked: tracked && tracking === null,
  });
  progress.unrecordedChars += charsOf(composed.content);
  const outcome = deliveryOutcomeOf(email, answer);
  if (outcome.kind === 'accepted' && isSimulated(mailer, email.to_email)) {
    outcome.delivered = false;
    outcome.simulator = email.to_email;
  }
  return { ...outcome, content: composed.content };
}

function charsOf(content: Composed['content']): number {
  if (!content) return 0;
  if ('body' in content) return content.body.length;
  return content.values.reduce((sum, value) => sum + value.length, 0);
}

function deliveryOutcomeOf(
  { id: emailId, attempts }: Sendable,
  outcome: SendOutcome,
): DeliveryOutcome {
  switch (outcome.kind) {
    case 'accepted':
    case 'uncertain':
    case 'refused':
      return { emailId, ...outcome };
    case 'retry':
      return attempts >= sendAttemptsMax
        ? { emailId, kind: 'refused', error: outcome.error }
        : {
            emailId,
            kind: 'again',
            error: outcome.error,
            delayMs: Math.max(retryDelayMs(attempts), outcome.retryAfterMs ?? 0),
          };
  }
}
