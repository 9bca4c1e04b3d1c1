import { randomUUID } from 'node:crypto';
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { Database } from '../db/database.ts';
import {
  claimSingleMail,
  deleteSingleMail,
  findSingleMail,
  releaseSingleMail,
  type SingleMailRow,
} from '../db/single-mail.ts';
import { type SendingRates, takeSendingTokens } from '../db/tokens.ts';
import { domainOf } from '../domain/email-address.ts';
import { wrapDocument } from '../domain/html-document.ts';
import { retryDelayMs, sendAttemptsMax } from '../domain/retry.ts';
import type { Mailer } from '../providers/mailer.ts';
import { composeMessage } from '../providers/mime.ts';
import { pause } from './pause.ts';

export interface SingleMailActivities {
  /**
   * Sends one mail outside the ledger, at most once. Answers in how many milliseconds it has to be
   * tried again, or null when that is over: it has left, was refused, or nobody knows.
   */
  SEND_SINGLE_MAIL(mail: { mailId: string }): Promise<{ retryMs: number | null }>;
}

export interface SingleMailServices {
  db: Database;
  mailer: Mailer;
  rates: SendingRates;
  log: { warn(details: object, message: string): void };
}

const heartbeatMs = 3_000;

export function createSingleMailActivities(services: SingleMailServices): SingleMailActivities {
  const { db, rates } = services;
  return {
    async SEND_SINGLE_MAIL({ mailId }) {
      const beat = setInterval(heartbeat, heartbeatMs);
      try {
        const waiting = await findSingleMail(db, mailId);
        if (!waiting) return { retryMs: null };
        const { waitMs } = await takeSendingTokens(db, rates, waiting.projectId, 1, {
          urgent: true,
        });
        await pause(waitMs, cancellationSignal());
        const mail = await claimSingleMail(db, mailId, randomUUID());
        return { retryMs: mail ? await send(services, mail) : null };
      } finally {
        clearInterval(beat);
      }
    },
  };
}

/** Hands a claimed mail over. Answers when to try again, if at all. */
async function send(
  { db, mailer, log }: SingleMailServices,
  mail: SingleMailRow,
): Promise<number | null> {
  const outcome = await mailer.send({
    emailId: mail.id,
    envelopeFrom: `bounce@${domainOf(mail.from_email)}`,
    to: mail.to_email,
    raw: await composeMessage({
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
    }),
    tracked: false,
  });
  const details = { mailId: mail.id, kind: mail.kind, attempt: mail.attempts };
  if (outcome.kind === 'retry' && mail.attempts < sendAttemptsMax) {
    log.warn({ ...details, error: outcome.error }, 'A mail is tried again');
    await releaseSingleMail(db, mail.id);
    return Math.max(retryDelayMs(mail.attempts), outcome.retryAfterMs ?? 0);
  }
  if (outcome.kind !== 'accepted') {
    log.warn({ ...details, outcome: outcome.kind, error: outcome.error }, 'A mail was given up');
  }
  await deleteSingleMail(db, mail.id);
  return null;
}
