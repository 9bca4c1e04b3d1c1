import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../../database.ts';
import { insertingEngagement, type NewEngagement } from '../../../engagement/engagement.ts';
import { following, ledgerColumns } from '../../../sql/ledger.ts';
import { providerOf } from '../../../sql/mail-claims.ts';
import { changingMoments, type MomentState, momentChanges } from '../../../sql/mail-moments.ts';
import {
  type FeedbackEffects,
  isAccepted,
  type MessageState,
} from '../../../../domain/mail/feedback.ts';
import type { Refusal } from '../../../../domain/outcomes/outcome.ts';
import { cutText } from '../../../../domain/text-rules.ts';

/** A change of a message by feedback. */
interface MessageChange {
  /** The message before the change. */
  email: MomentState & { id: string; project_id: string; sent_at: Date | null; status: string };
  state: MessageState;
  trace: readonly (FeedbackEffects['trace'][number] & { at: Date })[];
  /** True if nothing reports the delivery of the message. */
  isUnreported: boolean;
}

/** Maximum number of characters stored of a provider's text. */
const errorCharsMax = 500;

/**
 * Stores changes of messages and of the tables that follow them, and the requests to their pixels
 * and links, which are judged later. Uses one statement for messages that were accepted before.
 */
export async function updateMessages(
  tx: Database,
  changes: readonly MessageChange[],
  requests: readonly NewEngagement[],
): Promise<void> {
  const staysSent = ({ email, state }: MessageChange) => isAccepted(email) && isAccepted(state);
  const sent = changes.filter(staysSent);
  if (sent.length > 0) {
    const moments = sent.flatMap(({ email, state }) => momentChanges(email, state));
    const followed = sql.join([changingMoments(moments), ...inserting(requests)]);
    const provider = sql`email.provider_id`;
    await update(tx, sent, { was: sql``, now: sql`email.id`, provider, followed });
  } else if (requests.length > 0) {
    await insertingEngagement(requests).execute(tx);
  }
  const others = changes.filter((change) => !staysSent(change));
  if (others.length > 0) {
    const ids = others.map(({ email }) => email.id);
    const was = sql`
      was as (select ${ledgerColumns('email')} from email where id = any(${ids}::uuid[])),`;
    const followed = following({ was: 'was', now: 'changed' });
    // The chunk of a message no longer names its provider, so the row must.
    const provider = providerOf('email');
    await update(tx, others, { was, now: ledgerColumns('email'), provider, followed });
  }
}

function inserting(requests: readonly NewEngagement[]): RawBuilder<unknown>[] {
  return requests.length > 0 ? [sql`requested as (${insertingEngagement(requests)})`] : [];
}

/**
 * Stores the states of messages.
 * @param parts what the statement selects before the update, returns from it, and does after it so
 * that other tables follow; and SQL of the provider that has the message
 */
async function update(
  tx: Database,
  changes: readonly MessageChange[],
  {
    was,
    now,
    provider,
    followed,
  }: Record<'was' | 'now' | 'provider' | 'followed', RawBuilder<unknown>>,
): Promise<void> {
  const given = changes.map(({ email, state, trace, isUnreported }) => ({
    id: email.id,
    ...state,
    delivery_unreported: isUnreported,
    error: state.error && cutText(state.error, errorCharsMax),
    // Feedback fails a message only when the provider rejects it.
    refusal: state.status === 'FAILED' ? ('provider_refused' satisfies Refusal) : null,
    trace,
  }));
  // After feedback a message is not SENDING any more, so the update also clears its lease.
  await sql`
    with ${was} changed as (
      update email set status = given.status, error = given.error,
          refusal = given.refusal, message_id = given.message_id,
          sent_at = given.sent_at, delivered_at = given.delivered_at,
          opened_at = given.opened_at, clicked_at = given.clicked_at,
          bounced_at = given.bounced_at, complained_at = given.complained_at,
          unsubscribed_at = given.unsubscribed_at,
          bounce_listed = given.bounce_listed, complaint_listed = given.complaint_listed,
          opens = given.opens, clicks = given.clicks,
          delivery_unreported = given.delivery_unreported, lease_until = null,
          provider_id = ${provider},
          trace = email.trace || given.trace, updated_at = now()
        from jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given(id uuid, status text,
          error text, refusal text, message_id text, sent_at timestamptz, delivered_at timestamptz,
          opened_at timestamptz, clicked_at timestamptz, bounced_at timestamptz,
          complained_at timestamptz, unsubscribed_at timestamptz, bounce_listed boolean,
          complaint_listed boolean, opens int, clicks int, delivery_unreported boolean,
          trace jsonb)
        where email.id = given.id
        returning ${now}
    ), ${followed}
    select`.execute(tx);
}
