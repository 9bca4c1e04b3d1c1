import type { Database } from '../../database.ts';
import type { FeedbackAnswer, FoundReport, ReportedMail } from './reports.ts';
import type { ReceivedMail } from '../../../domain/mail/inbound.ts';
import { findReceivers, recordReceived } from './record-inbound.ts';
import type { ReportSource } from '../../../domain/mail/feedback.ts';
import { feedbackOf, outcomeFor, type Reading } from '../../../domain/mail/reports/report.ts';

/** A message that arrived, for whatever address. */
export interface IncomingMessage {
  source: ReportSource;
  /** Addresses that it was sent to, in their stored form. */
  recipients: readonly string[];
  /** A hash of the message. Reports with the same hash on one mail count once. */
  fingerprint: string;
  reading: Reading;
  arrivedAt: Date;
  /** Reads the message as ordinary mail; null: it has no valid sender. */
  readMail(): Promise<ReceivedMail | null>;
}

export interface IncomingHandler {
  /** Returns the id of the mail whose return path is this address; null: it is no return path. */
  emailIdOf(address: string): string | null;
  /** Returns a sent mail; undefined: there is none. */
  mailOf(emailId: string): Promise<ReportedMail | undefined>;
  /** Records a report and resolves after the commit. */
  record(report: FoundReport): Promise<FeedbackAnswer>;
  /** Runs a transaction for a project. */
  transactFor(projectId: string, work: (tx: Database) => Promise<void>): Promise<void>;
}

/**
 * `report`: a report on a known mail. `received`: a mail to a project. `ignored`: nothing here can
 * use the message.
 */
export type IncomingResult = 'report' | 'received' | 'ignored';

/**
 * Records the effects of a message that arrived. Resolves after the commit. A message that arrives
 * again has no effect.
 */
export async function recordIncoming(
  db: Database,
  handler: IncomingHandler,
  message: IncomingMessage,
): Promise<IncomingResult> {
  if (message.reading.kind === 'ordinary') return receive(db, handler, message);
  const reports = await findReports(message, handler);
  const answers = await Promise.all(reports.map(handler.record));
  return answers.some((answer) => answer !== 'unknown') ? 'report' : 'ignored';
}

/**
 * Records an ordinary mail for the projects whose domains take mail. Each project has a transaction
 * of its own, and sees only its own recipients. A return path is no recipient, because it is for
 * reports.
 */
async function receive(
  db: Database,
  { emailIdOf, transactFor }: IncomingHandler,
  { recipients, readMail }: IncomingMessage,
): Promise<IncomingResult> {
  const addresses = recipients.filter((address) => emailIdOf(address) === null);
  const receivers = await findReceivers(db, addresses, { mustTakeMail: true });
  const mail = receivers.length === 0 ? null : await readMail();
  if (!mail) return 'ignored';
  for (const projectId of new Set(receivers.map((receiver) => receiver.projectId))) {
    const own = receivers.filter((receiver) => receiver.projectId === projectId);
    const report = { ...mail.report, recipients: own.map(({ to }) => to) };
    await transactFor(projectId, (tx) => recordReceived(tx, own, { ...mail, report }));
  }
  return 'received';
}

/**
 * Returns the reports in a message. A return path proves which mail a report is about: the return
 * path to which the message was sent, otherwise the return path in the returned mail. Without a
 * return path, the ids in the returned mail count only if the report names the recipient of that
 * mail. So a stranger can report about no mail, and a recipient only about mail to this recipient.
 */
async function findReports(
  { source, recipients, fingerprint, reading, arrivedAt }: IncomingMessage,
  { emailIdOf, mailOf }: IncomingHandler,
): Promise<FoundReport[]> {
  if (reading.kind !== 'report') return [];
  const { report } = reading;
  const idsOf = (addresses: readonly string[]) => [
    ...new Set(addresses.flatMap((address) => emailIdOf(address) ?? [])),
  ];
  const sentTo = idsOf(recipients);
  const proven = sentTo.length > 0 ? sentTo : idsOf(report.returnPaths);
  const mustName = proven.length === 0;
  const ids = mustName ? report.emailIds : proven;
  const mails = await Promise.all(ids.map(mailOf));
  const reports = ids.flatMap((emailId, index) => {
    const mail = mails[index];
    const outcome = mail && outcomeFor(report, mail.to, { mustName });
    if (!outcome) return [];
    const { projectId, contactId } = mail;
    const feedback = [feedbackOf(outcome, source, arrivedAt)];
    const receipt = `${fingerprint} ${emailId}`;
    const found = { emailId, projectId, contactId };
    return { ...found, messageId: null, feedback, acceptedAt: null, receipt };
  });
  return mustName ? reports.slice(0, 1) : reports;
}
