import { randomUUID } from 'node:crypto';
import { cancellationSignal } from '@temporalio/activity';
import {
  type SystemMailRow,
  claimSystemMail,
  deleteSystemMail,
  findSystemMail,
  releaseSystemMail,
} from '../../db/emails/system-mail.ts';
import type { Database } from '../../db/database.ts';
import { findSenderDomain } from '../../db/domains/domains.ts';
import { type SendingRates, takeSendingTokens } from '../../db/delivery/send-rate.ts';
import { domainOf } from '../../domain/email-address.ts';
import { defaultProviderId } from '../../domain/provider/provider.ts';
import { retryDelayMs } from '../../domain/runs/retry.ts';
import type { Mailer, SendOutcome } from '../../providers/mail/mailer.ts';
import { composeMessage } from '../../providers/mail/mime.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';
import {
  circuitRetryMs,
  type CircuitServices,
  enterCircuit,
  leaveCircuit,
  type ProviderSignal,
  releaseWaiting,
} from './batches/circuit.ts';
import { pause, whileAlive } from '../running/time-box.ts';
import { wrapDocument } from '../../domain/template/html.ts';

export type SystemMailActivities = ReturnType<typeof createSystemMailActivities>;

export interface SystemMailServices extends CircuitServices {
  mailer: Mailer;
  rates: SendingRates;
  returnPaths: Pick<ReturnPaths, 'pathOf'>;
  /** Milliseconds after the creation of a mail in which a failed attempt is retried. */
  retryMs: number;
}

/**
 * Milliseconds for which a database call of a claim is retried. An attempt makes two such calls, and
 * the run gives an attempt 10 minutes.
 */
const timeoutMs = 3 * 60_000;

export function createSystemMailActivities(services: SystemMailServices) {
  return {
    /**
     * Sends a mail that has no `email` row, at most once. Returns the milliseconds until the next
     * try; null: none follows, because the mail was sent or given up.
     */
    SEND_SYSTEM_MAIL: ({ mailId }: { mailId: string }) =>
      whileAlive(() => sendMail(services, mailId)),
  };
}

async function sendMail(
  services: SystemMailServices,
  mailId: string,
): Promise<{ retryMs: number | null }> {
  const { db, rates, log, mailer } = services;
  const mail = await findSystemMail(db, mailId);
  if (!mail) return { retryMs: null };
  if (!(await maySend(db, mail))) {
    log.warn(
      { mailId, kind: mail.kind },
      'A campaign test was not sent: the sender domain is not verified',
    );
    await deleteSystemMail(db, mailId);
    return { retryMs: null };
  }
  const send = await prepare(services, mail);
  const permit = await enterCircuit(services, mailer.provider);
  if ('waitMs' in permit) return { retryMs: circuitRetryMs(permit.waitMs, true) };
  const shown: ProviderSignal[] = [];
  try {
    const { waitMs } = await takeSendingTokens(db, rates, mail.project_id, 1, { urgent: true });
    await pause(waitMs, cancellationSignal());
    // A new id for each call, because a later attempt cannot know whether this one has given the mail
    // to the mail provider.
    const attemptId = randomUUID();
    const claim = () => claimSystemMail(db, mailId, attemptId);
    const attempt = await changeClaim(services, mailId, claim);
    if (attempt === undefined) {
      const details = { mailId, kind: mail.kind, attempt: mail.attempts };
      log.warn(
        details,
        'A mail is not tried again: an attempt was interrupted, and the mail may have been sent',
      );
      await deleteSystemMail(db, mailId);
      return { retryMs: null };
    }
    const outcome = await send();
    const isProviderFailure = outcome.kind === 'retry' && !outcome.isAboutMessage;
    shown.push({ kind: outcome.kind, isProviderFailure });
    return { retryMs: await endAttempt(services, mail, { attemptId, attempt }, outcome) };
  } finally {
    await leaveCircuit(services, mailer.provider, permit, shown, () =>
      releaseWaiting(db, { id: defaultProviderId, mailer }),
    );
  }
}

/**
 * Returns true for mail of this server, and for mail of a project whose sender domain is still
 * verified.
 */
async function maySend(db: Database, mail: SystemMailRow): Promise<boolean> {
  if (mail.project_id === null) return true;
  const domain = await findSenderDomain(db, mail.project_id, domainOf(mail.from_email));
  return domain?.status === 'verified';
}

/**
 * Composes a mail before it is claimed. Returns the function that sends it. Never throws: an
 * internal error counts as an attempt, or a bad mail would be retried forever.
 */
async function prepare(
  { mailer, returnPaths }: SystemMailServices,
  mail: SystemMailRow,
): Promise<() => Promise<SendOutcome>> {
  try {
    const raw = await composeMessage({
      emailId: mail.id,
      date: mail.created_at,
      from: { name: mail.from_name, address: mail.from_email },
      to: { name: null, address: mail.to_email },
      replyTo: mail.reply_to,
      subject: mail.subject,
      html: wrapDocument(mail.html, ''),
      headers: [],
      attachments: [],
      isTest: mail.kind === 'campaign-test',
    });
    // Reports about this mail are ignored, because it has no row.
    const domain = domainOf(mail.from_email);
    const message = {
      emailId: mail.id,
      envelopeFrom: returnPaths.pathOf(mail.id, domain),
      to: mail.to_email,
      raw,
      tracked: false,
      senderDomain: { projectId: mail.project_id, domain },
    };
    return () => mailer.send(message);
  } catch (error) {
    return () => Promise.resolve({ kind: 'retry', error: String(error), isAboutMessage: true });
  }
}

/**
 * Records the outcome of a claimed mail. Returns the milliseconds until the next try; null: none
 * follows.
 */
async function endAttempt(
  services: SystemMailServices,
  { id, kind, created_at }: SystemMailRow,
  { attemptId, attempt }: { attemptId: string; attempt: number },
  outcome: SendOutcome,
): Promise<number | null> {
  const { db, log, retryMs } = services;
  const details = { mailId: id, kind, attempt };
  if (outcome.kind === 'retry' && Date.now() - created_at.getTime() < retryMs) {
    log.warn({ ...details, error: outcome.error }, 'A mail could not be sent; it is tried again');
    await changeClaim(services, id, () => releaseSystemMail(db, id, attemptId));
    return Math.max(retryDelayMs(attempt), outcome.retryAfterMs ?? 0);
  }
  if (outcome.kind !== 'accepted') {
    log.warn({ ...details, outcome: outcome.kind, error: outcome.error }, 'A mail was given up');
  }
  await changeClaim(services, id, () => deleteSystemMail(db, id));
  return null;
}

/**
 * Begins or ends a claim, and retries while the database is unavailable. Retrying the whole
 * activity instead would fail: the next attempt would find a claim that is not its own, and give
 * the mail up.
 */
async function changeClaim<T>(
  { log }: SystemMailServices,
  mailId: string,
  work: () => Promise<T>,
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      log.warn({ error, mailId }, 'The claim of a mail could not be changed yet');
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}
