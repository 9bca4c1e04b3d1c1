import type { Database } from '../../db/database.ts';
import {
  type ClaimedEmail,
  countDueEmails,
  findNextDue,
  listAttachmentContents,
  releaseClaim,
} from '../../db/emails/emails.ts';
import { readOptInTokens } from '../../db/transactions/contacts/run-opt-in.ts';
import { claimUnheldEmails } from '../../db/transactions/mail/hold-back.ts';
import { returnSendingTokens, takeSendingTokens } from '../../db/delivery/send-rate.ts';
import { fillConfirmLinks } from '../../domain/consent/confirm-link.ts';
import { dateOf } from '../../domain/outcomes/hold.ts';
import { trackingLinks, withTracking } from '../../domain/links/tracking.ts';
import { composeMessage, textFromHtml } from '../../providers/mail/mime.ts';
import { ContentUnavailable, type SendingServices, type Tracking } from './batches/batch.ts';
import { type Delivered, deliverBatch } from './batches/deliver.ts';
import { circuitRetryMs } from './batches/circuit.ts';
import type { WaitSlots } from './wait-slots.ts';
import { pause, timeBoxed } from '../running/time-box.ts';
import { wrapDocument } from '../../domain/template/html.ts';

export interface DeliveryActivities {
  /**
   * Delivers the due transactional and workflow mail of a project.
   * @param mayShare true: the delivery may end early if there is work for several parallel
   * deliveries
   */
  DELIVER(projectId: string, mayShare?: boolean): Promise<Rest>;
}

/** The work that is left after a delivery. */
export interface Rest {
  /** Milliseconds until the next message is due; null: no message waits. */
  nextDueMs: number | null;
  /** Number of deliveries that should continue in parallel; absent: one. */
  parallelism?: number;
}

export interface DeliveryServices extends SendingServices {
  waitSlots: WaitSlots;
  /**
   * Returns the possible tokens of an opt-in request, derived from its id: first with the current
   * secret, then with previous ones.
   */
  optInTokensOf: (requestId: string) => readonly string[];
}

/** Maximum number of messages in a batch. */
const batchSize = 100;
/**
 * Number of due messages for each parallel delivery. A delivery is busy with this number for some
 * seconds.
 */
const deliveryBacklog = 1_000;
/**
 * Maximum number of parallel deliveries of a project, the same as for a campaign. More deliveries
 * would only take worker slots from other projects.
 */
const parallelismMax = 4;
/**
 * Time slice in milliseconds, longer than usual, so that a delivery run needs few activities,
 * mostly one.
 */
const sliceMs = 60_000;
/**
 * Milliseconds until the next try when messages are due but none could be claimed, for example
 * because another worker has just claimed them.
 */
const heldMs = 1_000;
/**
 * Maximum number of milliseconds that the activity itself waits for mail that is due soon. If the
 * run used a timer for each mail, the history of the run in Temporal would become long.
 */
const soonMsMax = 250;
/**
 * Minimum wait for mail that is due soon, in milliseconds, so that several messages are due after
 * the wait.
 */
const gatherMs = 100;
/**
 * One second, in milliseconds. The token bucket of a project holds tokens for about one second, so
 * a delivery that must wait longer gives its worker slot back. A delivery that ran for a second
 * without a wait is not limited by the rate, so parallel deliveries would help.
 */
const throttledMs = 1_000;

export function createDeliveryActivities(services: DeliveryServices): DeliveryActivities {
  const { waitSlots } = services;
  return {
    DELIVER: (projectId, mayShare = false) =>
      timeBoxed(async (shouldContinue, stop) => {
        for (;;) {
          const rest = await deliverAllDue(services, projectId, { mayShare, shouldContinue, stop });
          const soonMs = rest.nextDueMs ?? Infinity;
          if (soonMs === 0 || soonMs > soonMsMax || !shouldContinue()) return rest;
          const waits = waitSlots.wait(`delivery ${projectId}`, Math.max(soonMs, gatherMs), stop);
          if (!(await waits)) return rest;
        }
      }, sliceMs),
  };
}

/** Delivers until no mail is due, or none can be sent for a while. */
async function deliverAllDue(
  services: DeliveryServices,
  projectId: string,
  given: { mayShare: boolean; shouldContinue: () => boolean; stop: AbortSignal },
): Promise<Rest> {
  const { db } = services;
  const progress = { hasTried: false, hasWaited: false, throttled: false, hasBacklog: false };
  const shareAt = Date.now() + throttledMs;
  let pauseMs: number | null = null;
  while (given.shouldContinue() && pauseMs === null) {
    pauseMs = await deliverNext(services, projectId, progress, given.stop);
    if (!given.mayShare || pauseMs !== null || progress.throttled || !progress.hasBacklog) continue;
    if (Date.now() < shareAt) continue;
    const parallelism = await parallelismOf(db, projectId);
    if (parallelism > 1) return { nextDueMs: 0, parallelism };
  }
  const nextDueMs = await findNextDue(db, projectId);
  return { nextDueMs: nextDueMs === null ? null : Math.max(nextDueMs, pauseMs ?? 0) };
}

interface Progress {
  /** True if messages were claimed for sending. */
  hasTried: boolean;
  /**
   * True if this delivery has waited for tokens in its worker slot, because no wait slot was free.
   */
  hasWaited: boolean;
  /**
   * True after the limits have delayed mail, because further mail of this delivery may also be
   * late.
   */
  throttled: boolean;
  /** True if a full batch was due, so more mail may be due. */
  hasBacklog: boolean;
}

async function parallelismOf(db: Database, projectId: string): Promise<number> {
  const due = await countDueEmails(db, projectId, parallelismMax * deliveryBacklog);
  const parallelism = Math.ceil(due.count / deliveryBacklog);
  return Math.max(parallelism, 1);
}

/** Delivers the next batch. Returns the milliseconds to wait; null: continue at once. */
async function deliverNext(
  services: DeliveryServices,
  projectId: string,
  progress: Progress,
  stop: AbortSignal,
): Promise<number | null> {
  const { db, rates, waitSlots } = services;
  const { count: due, isPoliced, isRouted } = await countDueEmails(db, projectId, batchSize);
  progress.hasBacklog = due === batchSize;
  if (due === 0) return 0;
  // Transactional mail takes tokens before campaigns do, because a person waits for it.
  const tokens = await takeSendingTokens(db, rates, projectId, due, { urgent: true });
  const giveBack = (unused: number) => returnSendingTokens(db, rates, projectId, unused);
  if (tokens.waitMs > 0) {
    progress.throttled = true;
    if (!(await waitSlots.wait(`delivery ${projectId}`, tokens.waitMs, stop))) {
      // No wait slot is free, so the delivery once waits in its worker slot, if the wait is short.
      // Otherwise campaigns would always take the next tokens first.
      if (progress.hasWaited || tokens.waitMs > throttledMs) {
        await giveBack(tokens.granted);
        return Math.max(tokens.waitMs, throttledMs);
      }
      progress.hasWaited = true;
      await pause(tokens.waitMs, stop);
    }
  }
  if (stop.aborted) {
    await giveBack(tokens.granted);
    return 0;
  }
  const { throttled } = progress;
  const given = { projectId, max: tokens.granted, throttled, isPoliced, isRouted };
  const { claimed, waitMs } = await deliverDue(services, given, stop);
  await giveBack(tokens.granted - claimed);
  if (waitMs !== null) return circuitRetryMs(waitMs, progress.hasTried);
  progress.hasTried ||= claimed > 0;
  progress.throttled ||= tokens.granted < due;
  return claimed > 0 ? null : heldMs;
}

async function deliverDue(
  services: DeliveryServices,
  given: {
    projectId: string;
    max: number;
    throttled: boolean;
    isPoliced: boolean;
    isRouted: boolean;
  },
  stop: AbortSignal,
): Promise<Delivered> {
  const { db } = services;
  return deliverBatch<Awaited<ReturnType<typeof claimUnheldEmails>>[number]>(
    services,
    {
      projectId: given.projectId,
      max: given.max,
      isRouted: given.isRouted,
      async claim(attempt) {
        return { emails: await claimUnheldEmails(db, { ...given, ...attempt }) };
      },
      release: (attemptId) => releaseClaim(db, attemptId),
      async prepare(emails) {
        const filesOf = createFileReader(db);
        const asked = emails.flatMap((email) => email.opt_in_id ?? []);
        const tokens = await readOptInTokens(db, asked, services.optInTokensOf);
        return async (email, tracking) => ({
          raw: await compose(withToken(email, tokens), await filesOf(email), tracking),
        });
      },
    },
    stop,
  );
}

/**
 * Reads attachments just before they are sent. The last attachments are cached, because the
 * recipients of one request share them and are sent one after the other.
 */
function createFileReader(db: Database) {
  let last: { key: string; files: Promise<Map<string, Buffer>> } | null = null;
  return async ({ attachments }: ClaimedEmail): Promise<ReadonlyMap<string, Buffer>> => {
    if (attachments.length === 0) return new Map();
    const ids = attachments.map(({ attachmentId }) => attachmentId);
    const key = ids.join(' ');
    if (last?.key !== key) last = { key, files: listAttachmentContents(db, ids) };
    try {
      return await last.files;
    } catch (error) {
      throw new ContentUnavailable(
        'The attachments of a message could not be read from the database.',
        { cause: error },
      );
    }
  };
}

/** Adds the token to the link of a confirmation mail. The stored row does not contain the token. */
function withToken<E extends ClaimedEmail>(email: E, tokens: ReadonlyMap<string, string>): E {
  const token = email.opt_in_id && tokens.get(email.opt_in_id);
  if (!token) return email;
  const subject = fillConfirmLinks(email.subject, token);
  return { ...email, subject, body: email.body && fillConfirmLinks(email.body, token) };
}

/** Composes the message. The stored body and the text part have no tracking. */
function compose(
  email: ClaimedEmail,
  files: ReadonlyMap<string, Buffer>,
  tracking: Tracking | null,
): Promise<Buffer> {
  const html = wrapDocument(email.body ?? '', email.locale);
  return composeMessage({
    emailId: email.id,
    date: dateOf(email, new Date()),
    from: { name: email.from_name, address: email.from_email },
    to: { name: email.to_name, address: email.to_email },
    replyTo: email.reply_to,
    subject: email.subject,
    html: tracking
      ? withTracking(html, trackingLinks(tracking.apiUrl, email.id, tracking.sign), email.link_ids)
      : html,
    text: textFromHtml(html),
    headers: email.headers,
    attachments: email.attachments.map((file) => ({
      ...file,
      content: (files.get(file.attachmentId) ?? Buffer.alloc(0)).toString('base64'),
    })),
  });
}
