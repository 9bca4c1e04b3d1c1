import { sql } from 'kysely';
import type { Feedback } from '../../domain/mail/feedback.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';

/** Reports on messages, and how their messages are found. */

/** Feedback on one message, as it arrived. */
export interface FeedbackReport {
  /** Identify the message: our own id, else the provider's. */
  emailId: string | null;
  messageId: string | null;
  /** In the order in which it is applied. */
  feedback: readonly Feedback[];
  /** When the provider accepted the message, where it reports that. */
  acceptedAt: Date | null;
  /** Feedback of the same receipt counts once. null: each counts. */
  receipt: string | null;
  /** Of our own pixel: opens of one message within 10 seconds count once. */
  isOwnTracking?: boolean;
}

/** A report whose message exists. */
export interface FoundReport extends FeedbackReport {
  emailId: string;
  projectId: string;
  contactId: string;
}

/** The messages of reports, each in its place; null where there is none. Locks nothing. */
export async function findReportedMessages(
  db: Database,
  reports: readonly FeedbackReport[],
): Promise<(FoundReport | null)[]> {
  const byId = await findMessages(
    db,
    'id',
    reports
      .flatMap(({ emailId, messageId }) => [emailId, ownIdIn(messageId)])
      .filter((id) => typeof id === 'string'),
  );
  const messageOf = ({ emailId, messageId }: FeedbackReport) => {
    const named = byId.get(emailId ?? '');
    if (named) return named;
    const own = byId.get(ownIdIn(messageId) ?? '');
    return own?.message_id === messageId ? own : undefined;
  };
  const byMessageId = await findMessages(
    db,
    'message_id',
    reports.flatMap((report) => (messageOf(report) ? [] : (report.messageId ?? []))),
  );
  return reports.map((report) => {
    const found = messageOf(report) ?? byMessageId.get(report.messageId ?? '');
    if (!found) return null;
    const { id: emailId, project_id: projectId, contact_id: contactId } = found;
    return { ...report, emailId, projectId, contactId };
  });
}

/** The id of the message that an id begins with which no provider has given, but our own mailers. */
function ownIdIn(messageId: string | null): string | undefined {
  return messageId?.match(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=@)/)?.[0];
}

async function findMessages(db: Database, column: 'id' | 'message_id', values: readonly string[]) {
  if (values.length === 0) return new Map<string, never>();
  const rows = await db
    .selectFrom('email')
    .select(['id', 'message_id', 'project_id', 'contact_id'])
    // Written out as literals, to match the index of provider ids.
    .where('source_type', '<>', sql.lit('INBOUND'))
    .where(column, '=', anyOf([...new Set(values)], column === 'id' ? 'uuid' : 'text'))
    .$if(column === 'message_id', (query) =>
      query.where(sql<boolean>`left(message_id, 36) <> id::text`),
    )
    .execute();
  return new Map(rows.map((row) => [row[column] ?? '', row]));
}
