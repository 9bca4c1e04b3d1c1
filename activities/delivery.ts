import { randomUUID } from 'node:crypto';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import {
  claimDueEmails,
  type ClaimedEmail,
  countDueEmails,
  findNextDue,
  listAttachmentContents,
  recordSettlements,
  releaseClaim,
  type Settlement,
} from '../db/emails.ts';
import { type SendingRates, takeSendingTokens } from '../db/tokens.ts';
import { domainOf } from '../domain/email-address.ts';
import { wrapDocument } from '../domain/html-document.ts';
import { retryDelayMs, sendAttemptsMax } from '../domain/retry.ts';
import type { Mailer, SendOutcome } from '../providers/mailer.ts';
import { composeMessage } from '../providers/mime.ts';
import type { Dispatcher } from '../workflows/dispatcher.ts';

export interface DeliveryActivities {
  /**
   * Delivers what is due of a project's transactional and workflow mail. Answers when the next
   * message is due, in milliseconds from now, or null when none waits.
   */
  DELIVER(projectId: string): Promise<{ nextDueMs: number | null }>;
}

export interface DeliveryServices {
  db: Database;
  mailer: Mailer;
  dispatcher: Dispatcher;
  rates: SendingRates;
  log: { warn(details: object, message: string): void };
}

/** Messages claimed at once. */
const batchSize = 100;
/** A claim nobody settles within this time belongs to a process that died. */
const leaseSeconds = 120;
/** One activity stays at work this long: fewer history events than one per batch. */
const shiftMs = 60_000;
/** How often the activity says that it is alive; the lane gives it up after five times that. */
const heartbeatMs = 3_000;

export function createDeliveryActivities(services: DeliveryServices): DeliveryActivities {
  const { db, rates } = services;
  return {
    async DELIVER(projectId) {
      const shiftEnd = Date.now() + shiftMs;
      const stop = cancellationSignal();
      // By the clock: a slow provider is no dead worker.
      const beat = setInterval(heartbeat, heartbeatMs);
      try {
        while (!stop.aborted && Date.now() < shiftEnd) {
          const due = await countDueEmails(db, projectId, batchSize);
          if (due === 0) break;
          const { granted, waitMs } = await takeSendingTokens(db, rates, projectId, due);
          if (granted === 0) await pause(waitMs, stop);
          else await deliverBatch(services, projectId, granted);
        }
        return { nextDueMs: await findNextDue(db, projectId) };
      } finally {
        clearInterval(beat);
      }
    },
  };
}

async function deliverBatch(
  services: DeliveryServices,
  projectId: string,
  max: number,
): Promise<void> {
  const { db, dispatcher } = services;
  const attemptId = randomUUID();
  let emails: ClaimedEmail[];
  let files: Map<string, Buffer>;
  try {
    emails = await claimDueEmails(db, { projectId, attemptId, max, leaseSeconds });
    files = await listAttachmentContents(
      db,
      emails.flatMap((email) => email.attachments.map((file) => file.attachmentId)),
    );
  } catch (error) {
    // The claim may be committed, whether we were told or not; nothing has been handed over.
    await persistently(services, projectId, () => releaseClaim(db, attemptId));
    throw error;
  }
  if (emails.length === 0) return;
  const settlements = await sendAll(services, emails, files);
  const outcomes = { projectId, attemptId, settlements };
  dispatcher.dispatch(
    await persistently(services, projectId, () => recordSettlements(db, outcomes)),
  );
}

async function sendAll(
  { mailer }: DeliveryServices,
  emails: ClaimedEmail[],
  files: ReadonlyMap<string, Buffer>,
): Promise<Settlement[]> {
  const settlements: Settlement[] = [];
  const queue = emails.values();
  async function send(): Promise<void> {
    for (const email of queue) {
      settlements.push(await deliver(mailer, email, files));
    }
  }
  await Promise.all(Array.from({ length: Math.min(mailer.maxConcurrency, emails.length) }, send));
  return settlements;
}

/** Hands one message over, after a last look at whether it still may leave. */
async function deliver(
  mailer: Mailer,
  email: ClaimedEmail,
  files: ReadonlyMap<string, Buffer>,
): Promise<Settlement> {
  const emailId = email.id;
  const withheld = withheldReason(email);
  if (withheld) return { emailId, kind: 'failed', error: withheld };
  const outcome = await compose(email, files).then(
    (raw) =>
      mailer.send({
        emailId,
        envelopeFrom: `bounce@${domainOf(email.from_email)}`,
        to: email.to_email,
        raw,
        tracked: false,
      }),
    // A fault of ours: the others of the batch must not suffer from it.
    (error: unknown): SendOutcome => ({ kind: 'retry', error: String(error) }),
  );
  switch (outcome.kind) {
    case 'accepted':
    case 'uncertain':
      return { emailId, ...outcome };
    case 'refused':
      return { emailId, kind: 'failed', error: outcome.error };
    case 'retry':
      return email.attempts >= sendAttemptsMax
        ? { emailId, kind: 'failed', error: outcome.error }
        : {
            emailId,
            kind: 'again',
            error: outcome.error,
            delayMs: Math.max(retryDelayMs(email.attempts), outcome.retryAfterMs ?? 0),
          };
  }
}

async function compose(email: ClaimedEmail, files: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  return composeMessage({
    emailId: email.id,
    date: email.created_at,
    from: { name: email.from_name, address: email.from_email },
    to: { name: email.to_name, address: email.to_email },
    replyTo: email.reply_to,
    subject: email.subject,
    html: wrapDocument(email.body ?? '', email.locale),
    headers: email.headers,
    attachments: email.attachments.map((file) => ({
      ...file,
      content: (files.get(file.attachmentId) ?? Buffer.alloc(0)).toString('base64'),
    })),
  });
}

function withheldReason(email: ClaimedEmail): string | null {
  if (email.project_disabled) return 'project_disabled';
  const toContact = email.source_type !== 'WORKFLOW' || email.to_email === email.contact_email;
  const needsSubscription =
    email.message_class === 'MARKETING' ||
    (email.message_class === 'HEADLESS' && email.source_type !== 'TRANSACTIONAL');
  return needsSubscription && toContact && !email.contact_subscribed
    ? 'contact_unsubscribed'
    : null;
}

/**
 * Does what ends a claim, trying again while the database is away: what was accepted and not
 * recorded, or claimed and not released, would count as unknown. Gives up when the lease is over.
 */
async function persistently<T>(
  { log }: DeliveryServices,
  projectId: string,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + leaseSeconds * 1000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      log.warn({ error, projectId }, 'A claim could not be ended yet');
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      stop.removeEventListener('abort', done);
      resolve();
    }
    stop.addEventListener('abort', done);
  });
}
