import type { Database } from '../../../database.ts';
import { judgeAgain, type NewEngagement } from '../../../engagement/engagement.ts';
import type { Feedback, MessageState } from '../../../../domain/mail/feedback.ts';
import type { ClientSign } from '../../../../domain/engagement/verdict.ts';

/** A change of a message by feedback. */
interface MessageChange {
  /** The message before the change. */
  email: { id: string } & Pick<MessageState, 'delivered_at' | 'opens' | 'clicks'>;
  state: Pick<MessageState, 'delivered_at'>;
}

/** A report of a message that exists. */
interface Report {
  projectId: string;
  emailId: string;
  client?: { client: string | null; signs: readonly ClientSign[] };
}

/** Returns the request to a pixel or link that a report is about; null: it is about none. */
export function requestOf(report: Report, feedback: Feedback): NewEngagement | null {
  const { kind, at } = feedback;
  if (kind !== 'open' && kind !== 'click' && kind !== 'head') return null;
  const { client, signs } = report.client ?? { client: null, signs: ['no_agent' as const] };
  const { projectId, emailId } = report;
  const link = kind === 'click' ? feedback.link : null;
  const { linkId = null, linkCount = 0 } = kind === 'open' ? {} : feedback;
  return { projectId, emailId, at, kind, link, linkId, linkCount, client, signs };
}

/**
 * Makes recent requests of messages whose delivery was reported due for another judgement, before
 * new requests are recorded.
 */
export async function judgeDelivered(
  tx: Database,
  changes: readonly MessageChange[],
): Promise<void> {
  const delivered = changes.filter(
    ({ email, state }) =>
      email.opens + email.clicks > 0 &&
      email.delivered_at?.getTime() !== state.delivered_at?.getTime(),
  );
  if (delivered.length === 0) return;
  await judgeAgain(
    tx,
    delivered.map(({ email }) => email.id),
  );
}
