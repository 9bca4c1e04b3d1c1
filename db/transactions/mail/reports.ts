import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { providerOf } from '../../sql/mail-claims.ts';
import type { ClientSign } from '../../../domain/engagement/verdict.ts';
import type { Feedback } from '../../../domain/mail/feedback.ts';

/** Feedback on one message, as it arrived. */
export interface FeedbackReport {
  /** `emailId` (our own id) or else `messageId` (the provider's id) identifies the message. */
  emailId: string | null;
  messageId: string | null;
  /** Feedback in the order in which it is applied. */
  feedback: readonly Feedback[];
  /** When the provider accepted the message; null: the report does not have this time. */
  acceptedAt: Date | null;
  /** Feedback with the same receipt counts once. null: it always counts. */
  receipt: string | null;
  /**
   * True for reports of our own pixel and links: opens of one message within seconds count once.
   */
  isOwnTracking?: boolean;
  /**
   * The client of an open or click: its keyed hash, and the signs that it shows. Absent: unknown.
   */
  client?: { client: string | null; signs: readonly ClientSign[] };
  /** The providers whose mail the report may be about; absent: any. */
  takenBy?: readonly Reporter[];
}

/** A mail provider that reports on the mail that it took. */
export interface Reporter {
  providerId: string;
  /** The provider's project; null: it is a provider of the installation. */
  projectId: string | null;
}

/** `duplicate`: the receipt is known. `unknown`: there is no such message. */
export type FeedbackAnswer = 'recorded' | 'duplicate' | 'unknown';

/** A report whose message exists. */
export interface FoundReport extends FeedbackReport {
  emailId: string;
  projectId: string;
  contactId: string;
}

/** Returns true if the message of a report is known. */
function isFound(report: FeedbackReport | FoundReport): report is FoundReport {
  return 'contactId' in report;
}

/** Returns the messages of reports, each at its index; null where there is none. Locks nothing. */
export async function findReportedMessages(
  db: Database,
  reports: readonly (FeedbackReport | FoundReport)[],
): Promise<(FoundReport | null)[]> {
  const byId = await findById(
    db,
    reports
      .filter((report) => !isFound(report))
      .flatMap(({ emailId, messageId }) => [emailId, ownIdIn(messageId)])
      .filter((id) => typeof id === 'string'),
  );
  const messageOf = ({ emailId, messageId }: FeedbackReport) => {
    const named = byId.get(emailId ?? '');
    if (named) return named;
    const own = byId.get(ownIdIn(messageId) ?? '');
    return own?.message_id === messageId ? own : undefined;
  };
  const byMessageId = await findByProviderId(
    db,
    reports.flatMap((report) =>
      isFound(report) || messageOf(report) ? [] : (report.messageId ?? []),
    ),
  );
  return reports.map((report) => {
    if (isFound(report)) return report;
    const found = messageOf(report) ?? byMessageId.get(report.messageId ?? '');
    if (!found || !mayReport(report, found)) return null;
    const { id: emailId, project_id: projectId, contact_id: contactId } = found;
    return { ...report, emailId, projectId, contactId };
  });
}

/**
 * Returns true if a report counts for a message: its provider reports only on mail that it took.
 */
function mayReport(
  { takenBy }: FeedbackReport,
  message: { project_id: string; provider_id: string | null },
): boolean {
  if (!takenBy) return true;
  return takenBy.some(
    ({ providerId, projectId }) =>
      message.provider_id === providerId &&
      (projectId === null || message.project_id === projectId),
  );
}

/** A sent message, as a report about it needs it. */
export interface ReportedMail {
  to: string;
  projectId: string;
  contactId: string;
}

/** Returns sent messages in the order of the ids; undefined: there is none. */
export async function findReportedMails(
  db: Database,
  ids: readonly string[],
): Promise<(ReportedMail | undefined)[]> {
  const known = await findById(db, ids);
  return ids.map((id) => {
    const row = known.get(id);
    return row && { to: row.to_email, projectId: row.project_id, contactId: row.contact_id };
  });
}

/** Returns the projects of sent messages, by the ids of the messages. */
export async function findMailProjects(
  db: Database,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await findById(db, ids);
  return new Map([...rows].map(([id, { project_id }]) => [id, project_id]));
}

/**
 * Returns the results of reports without a message, in order: `duplicate` if the receipt is known
 * from a time when the message existed.
 */
export async function answerLostReports(
  db: Database,
  reports: readonly FeedbackReport[],
): Promise<FeedbackAnswer[]> {
  const receipts = reports.flatMap(({ receipt }) => receipt ?? []);
  const rows =
    receipts.length === 0
      ? []
      : await db
          .selectFrom('report_receipt')
          .select('id')
          .where('id', '=', anyOf(receipts, 'text'))
          .execute();
  const known = new Set<string | null>(rows.map((row) => row.id));
  return reports.map(({ receipt }) => (known.has(receipt) ? 'duplicate' : 'unknown'));
}

/**
 * If one of our own mailers made this message id, returns the email id in it; otherwise undefined.
 */
function ownIdIn(messageId: string | null): string | undefined {
  return messageId?.match(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=@)/)?.[0];
}

async function findById(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, never>();
  const rows = await db
    .selectFrom('email')
    .select(['id', 'message_id', 'project_id', 'contact_id', 'to_email'])
    .select(providerOf('email').as('provider_id'))
    .where('source_type', '<>', 'INBOUND')
    .where('id', '=', anyOf([...new Set(ids)]))
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function findByProviderId(db: Database, messageIds: readonly string[]) {
  if (messageIds.length === 0) return new Map<string, never>();
  const rows = await db
    .selectFrom('provider_message')
    .innerJoin('email', 'email.id', 'provider_message.email_id')
    .select(['email.id', 'provider_message.message_id', 'email.project_id', 'email.contact_id'])
    .select(providerOf('email').as('provider_id'))
    .where('provider_message.message_id', '=', anyOf([...new Set(messageIds)], 'text'))
    .execute();
  return new Map(rows.map((row) => [row.message_id, row]));
}
