import { type RawBuilder, sql } from 'kysely';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { retentionMsMin } from '../../emails/body-retention.ts';
import { isRefusal } from '../../sql-state.ts';
import { derivedEvents, loggingDerived, selectDerivable } from '../../sql/derived-events.ts';
import { following, ledgerColumns, whenAccepted } from '../../sql/ledger.ts';
import { routedBy } from '../../sql/mail-claims.ts';
import { unrouted } from '../../sql/mail-trace.ts';
import type { Attempt } from './attempts.ts';
import type { ChunkOrigin } from './claims.ts';
import { timeOfId } from '../../../domain/ids.ts';
import { notedSubscription } from '../../../domain/runs/runs.ts';
import { mayHaveForbiddenText } from '../../../domain/text-rules.ts';
import { among } from '../../expressions.ts';

/**
 * Records the outcomes of a chunk in the usual case: the provider has accepted every message at the
 * first attempt. Values that the messages share are given to PostgreSQL once, and only differing
 * values for each message. This is faster than `recordDeliveryOutcomes`, which handles all
 * outcomes.
 */

/** The chunk is not the usual case. Its transaction is rolled back. */
class NotAllAccepted extends Error {}

/**
 * Records the outcomes of an attempt in one transaction if they are the usual case. Returns false
 * if they are not; then nothing has changed.
 */
export async function recordAcceptedChunk(db: Database, attempt: Attempt): Promise<boolean> {
  const accepted = allAccepted(attempt);
  if (!accepted) return false;
  try {
    await transact(db, (tx) => record(tx, accepted));
    return true;
  } catch (error) {
    if (error instanceof NotAllAccepted || isRefusal(error)) return false;
    throw error;
  }
}

interface AcceptedChunk {
  projectId: string;
  campaignId: string;
  chunk: ChunkOrigin;
  emailIds: readonly string[];
  contactIds: readonly string[];
  /** True if the provider's acceptance counts as delivery. */
  isDelivered: boolean;
  /** True if nothing will report the deliveries. */
  isUnreported: boolean;
  bodyTemplate: string;
  /** JSON of the differing values, by message. */
  messages: string;
  count: number;
}

/**
 * Returns null if this is not the usual case: the outcomes differ, or one has more data to record,
 * such as its own headers or a report of the simulator.
 */
function allAccepted({ projectId, attemptIds, outcomes, claimed, campaign }: Attempt) {
  const [first] = outcomes;
  if (!campaign || !claimed || attemptIds.length !== 1 || outcomes.length !== claimed.length) {
    return null;
  }
  if (campaign.chunk.throttledAt !== null || first?.kind !== 'accepted') return null;
  if (!first.content || !('bodyTemplate' in first.content)) return null;
  const { delivered: isDelivered, isUnreported = false } = first;
  const { bodyTemplate } = first.content;
  const oldest = Date.now() - retentionMsMin;
  const messages = [];
  for (const outcome of outcomes) {
    if (outcome.kind !== 'accepted' || outcome.delivered !== isDelivered) return null;
    if ((outcome.isUnreported ?? false) !== isUnreported) return null;
    const { content, emailId: id, messageId } = outcome;
    if (!content || !('bodyTemplate' in content) || content.bodyTemplate !== bodyTemplate)
      return null;
    if (content.headers || content.renderedPlainly || outcome.simulator !== undefined) return null;
    // The retention may have passed the message: see `reopenRetention`.
    if (timeOfId(id) < oldest) return null;
    messages.push({
      id,
      message_id: messageId,
      subject: content.subject,
      body_values: content.values,
    });
  }
  const contactIds = claimed.flatMap(({ contact_id: id }) => id ?? []);
  if (contactIds.length !== claimed.length) return null;
  const json = JSON.stringify(messages);
  if (mayHaveForbiddenText(json)) return null;
  const { id: campaignId, chunk } = campaign;
  const shared = {
    projectId,
    campaignId,
    chunk,
    emailIds: outcomes.map(({ emailId }) => emailId),
    contactIds,
    isDelivered,
    isUnreported,
    bodyTemplate,
  };
  return { ...shared, messages: json, count: messages.length };
}

async function record(tx: Database, given: AcceptedChunk): Promise<void> {
  const { projectId, campaignId, chunk, isDelivered, isUnreported, count } = given;
  const events = derivedEvents.filter(({ at }) => isDelivered || at === 'sent_at');
  const names = sql.join(events.map(({ name }) => sql`(${sql.lit(name)})`));
  const isRouted = await lockInOrder(tx, given, names);
  // Without routes the rows need not be joined with anything.
  const part = {
    joined: isRouted
      ? sql`left join ${routedBy(chunk.attemptId)} part on part.id = accepted.id`
      : sql``,
    columns: isRouted
      ? sql`provider_id = case when part.id is null then email.provider_id else part.provider_id end,
          trace = case when part.id is null then email.trace
            else (${unrouted(sql`email.trace`)}) || part.plain end,`
      : sql``,
  };
  const isWanted = sql`exists (select from derivable where "subscriptionIds" is not null)`;
  const bits = events.reduce((sum, { bit }) => sum + bit, 0);
  // One time for all messages, later than the locks, so that their events count for the same day.
  const at = sql`statement_timestamp()`;
  const { rows } = await sql<{ subscriptionIds: string[] | null; isUsual: boolean }>`
    with derivable as (
      ${selectDerivable(projectId, given.contactIds)}
    ), settled as (
      update email set
          status = ${sql.lit(isDelivered ? 'DELIVERED' : 'SENT')}, message_id = accepted.message_id,
          ${part.columns} attempts = 1, handed_over_at = ${chunk.claimedAt}::timestamptz,
          sent_at = ${at}, delivered_at = ${isDelivered ? at : sql`null`},
          delivery_unreported = ${sql.lit(isUnreported)},
          derived_events = ${sql.lit(bits)}, from_name = ${chunk.fromName},
          reply_to = ${chunk.replyTo}, content_version = ${chunk.contentVersion},
          subject = accepted.subject, body_template = ${given.bodyTemplate},
          body_values = accepted.body_values, updated_at = now()
        from jsonb_to_recordset(${given.messages}::jsonb)
          as accepted(id uuid, message_id text, subject text, body_values jsonb)
          ${part.joined}
        where email.id = accepted.id and ${among('email', given.emailIds)}
          and email.status = 'PENDING' and email.attempts = 0
        returning ${ledgerColumns('email')}
    ), total as (
      select count(*)::int as count, min(sent_at) as at from settled
    ), counted as (
      -- Every attempt of the campaign waits for the lock of this row, so this part must be executed
      -- last. It is written before the others, because PostgreSQL executes the parts that change
      -- rows, and whose result no other part reads, from the last one to the first.
      update campaign set
          sent_count = sent_count + total.count,
          delivered_count = delivered_count + case when ${sql.lit(isDelivered)} then total.count else 0 end,
          unreported_count = unreported_count + case when ${sql.lit(isUnreported)} then total.count else 0 end,
          assumed_count = assumed_count + case when ${sql.lit(isUnreported)} then total.count else 0 end,
          refused_in_row = 0
        from total where campaign.id = ${campaignId}
    ), tallied as (
      insert into event_tally (project_id, name, day, count)
        select ${projectId}, name, (at at time zone 'UTC')::date, count
          from total cross join (values ${names}) as event(name)
    ), ${following({ now: 'settled' }, whenAccepted)}, ended as (
      delete from campaign_chunk where attempt_id = ${chunk.attemptId}
    ), logged as (
      ${loggingDerived(projectId, 'settled', isWanted)}
    )
    select (select array_agg(distinct id)
          from derivable, unnest("subscriptionIds") as id) as "subscriptionIds",
        count = ${count} and ${isDerivable(sql`derivable`, names)} as "isUsual"
      from total`.execute(tx);
  // Feedback was faster, a contact was deleted with its message, or an event must be stored: while
  // this transaction waited for its locks, a workflow or a wait began to need the event.
  if (!rows[0]?.isUsual) throw new NotAllAccepted();
  const ids = rows[0]?.subscriptionIds ?? [];
  notifyAfterCommit(
    tx,
    ids.map((id) => notedSubscription(projectId, id)),
  );
}

/**
 * Locks the contacts in order, then the chunk: see `recordDeliveryOutcomes`. Returns true if routes
 * have chosen the providers of its messages.
 */
async function lockInOrder(
  tx: Database,
  { projectId, chunk, contactIds, count }: AcceptedChunk,
  names: RawBuilder<unknown>,
): Promise<boolean> {
  const derivable = sql`(${selectDerivable(projectId, contactIds)}) derivable`;
  const { rows } = await sql<{ isDerivable: boolean; isRouted: boolean }>`
    with receivers as materialized (
      select id from contact where id = any(${contactIds}::uuid[]) order by id for no key update
    )
    select ${isDerivable(derivable, names)} as "isDerivable",
        routed is not null as "isRouted"
      from campaign_chunk
      where attempt_id = ${chunk.attemptId} and cardinality(email_ids) = ${count}
        and (select count(*) from receivers) > 0
      for update`.execute(tx);
  // The attempt has lost the chunk or some messages, all outcomes are recorded, all contacts are
  // deleted, or some events must be stored.
  if (!rows[0]?.isDerivable) throw new NotAllAccepted();
  return rows[0].isRouted;
}

/** SQL that is true if no event of these names must be stored. */
function isDerivable(derivable: RawBuilder<unknown>, names: RawBuilder<unknown>) {
  return sql<boolean>`(not exists (values ${names} except select name from ${derivable}))`;
}
