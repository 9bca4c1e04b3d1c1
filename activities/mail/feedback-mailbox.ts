import { cancellationSignal } from '@temporalio/activity';
import type { Logger } from 'pino';
import { type Database, transact } from '../../db/database.ts';
import { recordIncoming } from '../../db/transactions/mail/incoming.ts';
import { findMailProjects, findReportedMails } from '../../db/transactions/mail/reports.ts';
import {
  type JudgeReputation,
  recordSingleReport,
  type SettledMessage,
} from '../../db/transactions/mail/record-feedback.ts';
import { domainOf } from '../../domain/email-address.ts';
import { type FeedbackMailbox, mailboxErrorText } from '../../providers/mail/feedback-mailbox.ts';
import { readIncoming } from '../../providers/mail/incoming.ts';
import type { ReturnPaths } from '../../providers/return-paths.ts';

export type FeedbackMailboxActivities = ReturnType<typeof createFeedbackMailboxActivities>;

export interface FeedbackMailboxServices {
  db: Database;
  log: Pick<Logger, 'warn'>;
  returnPaths: ReturnPaths;
  /** null: no mailbox is configured. */
  feedbackMailbox: { mailbox: FeedbackMailbox; everyMs: number } | null;
  /** Disables a project with a bad reputation; null: no project is disabled. */
  judge: JudgeReputation | null;
  /** Returns true if no report on the delivery of a message will come. */
  isUnreported: (message: SettledMessage) => boolean;
}

/** The result of reading the mailbox once. */
export interface MailboxRead {
  /** Number of messages that were processed. */
  taken: number;
  /** Why the mailbox could not be read to its end; null: no error. */
  error: string | null;
  /** Milliseconds until the next read, if there was no error. */
  nextMs: number;
}

/** Milliseconds after which a read ends, so that the run can show its progress. */
const lookMs = 60_000;

export function createFeedbackMailboxActivities(services: FeedbackMailboxServices) {
  return {
    /** Processes the messages in the mailbox; null: no mailbox is configured now. */
    READ_FEEDBACK_MAILBOX: () => readMailbox(services),
  };
}

async function readMailbox(services: FeedbackMailboxServices): Promise<MailboxRead | null> {
  const { feedbackMailbox, log } = services;
  if (!feedbackMailbox) return null;
  const { mailbox, everyMs } = feedbackMailbox;
  const stop = cancellationSignal();
  const endAt = Date.now() + lookMs;
  let taken = 0;
  try {
    const { hasMore } = await mailbox.readUnseen({
      ownersOf: (messages) => ownersOf(services, messages),
      async take(raw) {
        await takeMessage(services, raw);
        taken += 1;
      },
      shouldContinue: () => !stop.aborted && Date.now() < endAt,
    });
    return { taken, error: null, nextMs: hasMore ? 0 : everyMs };
  } catch (error) {
    log.warn({ error }, 'the mailbox of reports could not be read; it is tried again');
    return { taken, error: mailboxErrorText(error), nextMs: everyMs };
  }
}

/**
 * Returns the owner of each message, because owners take turns. The owner is the project of the
 * mail that the message reports on, or the domain that the message was sent to.
 */
async function ownersOf(
  { db, returnPaths: { emailIdOf } }: FeedbackMailboxServices,
  messages: readonly (readonly string[])[],
): Promise<string[]> {
  const idIn = (recipients: readonly string[]) =>
    recipients.map(emailIdOf).find((id) => id !== null) ?? '';
  const projects = await findMailProjects(db, messages.map(idIn).filter(Boolean));
  return messages.map((recipients) => {
    const [first = ''] = recipients;
    return projects.get(idIn(recipients)) ?? domainOf(first);
  });
}

async function takeMessage(
  { db, returnPaths, judge, isUnreported }: FeedbackMailboxServices,
  raw: Buffer,
): Promise<void> {
  const message = await readIncoming({ raw, recipients: null, sender: null });
  const { emailIdOf } = returnPaths;
  await recordIncoming(
    db,
    {
      emailIdOf,
      mailOf: async (emailId) => (await findReportedMails(db, [emailId]))[0],
      record: (report) => recordSingleReport(db, report, { judge, isUnreported }),
      transactFor: (_, work) => transact(db, work),
    },
    { ...message, source: 'imap' },
  );
}
