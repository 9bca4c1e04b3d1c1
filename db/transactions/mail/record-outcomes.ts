import { sql } from 'kysely';
import type { ClaimedShare } from '../../billing/billing.ts';
import { billDepartedMail } from '../../billing/departed-mail.ts';
import { endChunk, lockChunk } from '../../campaigns/chunks.ts';
import { restoreDeparted } from '../../campaigns/tally.ts';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { reopenRetention } from '../../emails/body-retention.ts';
import { recordCampaignProgress, recordPlainRenderings } from '../../emails/campaign-progress.ts';
import { findDerivable } from '../../events/derived.ts';
import { among, anyOf, isoTime } from '../../expressions.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import {
  type Derivable,
  derivedEvents,
  loggingDerived,
  tallying,
} from '../../sql/derived-events.ts';
import { following, ledgerColumns, whenAccepted, whenFailing } from '../../sql/ledger.ts';
import { acceptedDetail, traceEntry } from '../../sql/mail-trace.ts';
import { dueAgain, heldAgain } from '../../sql/mail-queue.ts';
import { type NewEvent, recordEvents } from '../events/record-events.ts';
import { recordAcceptedChunk } from './accepted-chunk.ts';
import type { Attempt, DeliveryOutcome } from './attempts.ts';
import { type ChunkOrigin, type Claim, claimOf } from './claims.ts';
import {
  emailEventData,
  type FeedbackOptions,
  recordFeedback,
  simulatedReport,
} from './record-feedback.ts';
import { type FeedbackReport, findReportedMessages } from './reports.ts';
import { sendAttemptsMax } from '../../../domain/runs/retry.ts';
import { notedSubscription } from '../../../domain/runs/runs.ts';
import { mayHaveForbiddenText, storableText } from '../../../domain/text-rules.ts';

const statuses: Record<DeliveryOutcome['kind'], string> = {
  accepted: 'SENT',
  refused: 'FAILED',
  withheld: 'FAILED',
  again: 'PENDING',
  uncertain: 'SENDING',
  released: 'PENDING',
};

/**
 * Records outcomes and their events in one transaction. Rows that another attempt has claimed
 * meanwhile do not change.
 */
export async function recordDeliveryOutcomes(db: Database, attempt: Attempt): Promise<void> {
  if (await recordAcceptedChunk(db, attempt)) return;
  const { projectId, outcomes, campaign } = attempt;
  await transact(db, async (tx) => {
    // Locks the contacts first, in order, as everywhere: see `enterStep`.
    const { rows: contacts } = await sql<{ id: string }>`
      select id from contact
        where id in (select contact_id from email
          where id = any(${outcomes.map(({ emailId }) => emailId)}::uuid[]))
        order by id for no key update`.execute(tx);
    const chunkIds = campaign && (await lockChunk(tx, campaign.chunk.attemptId));
    const contactIds = contacts.map(({ id }) => id);
    const plainly =
      chunkIds && campaign
        ? await recordPlainRenderings(tx, outcomes, campaign.chunk.claimedAt)
        : 0;
    const derivable = chunkIds ? await findDerivable(tx, projectId, contactIds) : noneDerivable;
    const { bits, subscriptionIds } = derivable;
    const chunk = chunkIds && campaign && { origin: campaign.chunk, ids: chunkIds };
    const claim = claimOf(attempt.attemptIds, chunk, bits);
    const emails = await updateSettled(tx, attempt, claim, subscriptionIds.length > 0);
    notifyAfterCommit(
      tx,
      subscriptionIds.map((id) => notedSubscription(projectId, id)),
    );
    await reopenRetention(
      tx,
      outcomes.map(({ emailId }) => emailId),
    );
    await recordOvertaken(tx, attempt, claim, emails);
    const events = emails.flatMap(sentEvents);
    if (events.length > 0) await recordEvents(tx, projectId, events, { contactsLocked: true });
    const gone = await billDepartedMail(tx, projectId, acceptedBeside(attempt, emails));
    // Last, because every attempt of the campaign waits for the lock of its row.
    if (campaign) {
      const sent = gone.map(({ id }) => ({
        id,
        status: deliveredOrSent(attempt, id),
        isSent: true,
      }));
      const isClaimed = chunkIds !== undefined;
      const delivered = sent.filter(({ status }) => status === 'DELIVERED').length;
      const departed = { sent: sent.length, delivered };
      await restoreDeparted(tx, { id: campaign.id, projectId }, departed, isClaimed);
      const waiting = await recordCampaignProgress(tx, { plainly, ...campaign }, outcomes, [
        ...emails,
        ...sent,
      ]);
      if (chunkIds) await endAttemptsChunk(tx, attempt, campaign, chunkIds, waiting);
    }
    const simulated = outcomes.flatMap((outcome) =>
      outcome.kind === 'accepted' && outcome.simulator !== undefined
        ? [simulatedReport(outcome.emailId, outcome.simulator)]
        : [],
    );
    await recordReports(tx, simulated);
  });
}

const noneDerivable: Derivable = { bits: 0, subscriptionIds: [] };

/** Ends the chunk of an attempt; keeps its messages that have no final outcome. */
async function endAttemptsChunk(
  tx: Database,
  { projectId, outcomes, claimed = [] }: Attempt,
  { id, chunk }: { id: string; chunk: ChunkOrigin },
  chunkIds: readonly string[],
  waiting: readonly string[],
): Promise<void> {
  const ended = new Map(outcomes.map((outcome) => [outcome.emailId, outcome]));
  // Leaves out messages that no longer waited when this attempt claimed the chunk, for example
  // because their contacts were deleted.
  const own = new Set(claimed.map(({ id }) => id));
  const left = chunkIds.filter((id) => own.has(id) && !ended.has(id));
  const again = new Map<number, string[]>();
  for (const id of waiting) {
    const outcome = ended.get(id);
    const delayMs = outcome && 'delayMs' in outcome ? (outcome.delayMs ?? 0) : 0;
    again.set(delayMs, [...(again.get(delayMs) ?? []), id]);
  }
  await endChunk(tx, { id, projectId }, chunk.attemptId, { left, again });
}

/**
 * Returns messages that the provider has accepted, but whose rows this attempt did not update: they
 * were deleted, or are no longer claimed.
 */
function acceptedBeside(
  { outcomes, claimed = [] }: Attempt,
  settled: readonly SettledEmail[],
): ClaimedShare[] {
  const known = new Set(settled.map(({ id }) => id));
  const accepted = new Set(
    outcomes.filter(({ kind }) => kind === 'accepted').map(({ emailId }) => emailId),
  );
  return claimed.filter(({ id }) => accepted.has(id) && !known.has(id));
}

function deliveredOrSent({ outcomes }: Attempt, id: string): string {
  const outcome = outcomes.find(({ emailId }) => emailId === id);
  return outcome?.kind === 'accepted' && outcome.delivered ? 'DELIVERED' : 'SENT';
}

/**
 * A message's content is stored as a whole or not at all, because an earlier attempt may have
 * stored other content.
 */
const contentOfOutcome = sql`
  subject = coalesce(outcome.subject, email.subject),
  headers = case when outcome.subject is null
    then email.headers else coalesce(outcome.headers, '[]') end,
  body = case when outcome.subject is null then email.body else outcome.body end,
  body_template = case when outcome.subject is null
    then email.body_template else outcome.body_template end,
  body_values = case when outcome.subject is null
    then email.body_values else outcome.body_values end`;

/**
 * Writes outcomes to the rows of messages that the attempt still has claimed. Returns the changed
 * messages.
 * @param isLogged true if subscriptions deliver the events that are not stored
 */
async function updateSettled(
  tx: Database,
  attempt: Attempt,
  claim: Claim,
  isLogged: boolean,
): Promise<SettledEmail[]> {
  const outcomes = storableJson(attempt.outcomes.map(outcomeOf));
  const { rows } = await sql<SettledEmail>`
    with settled as (
      update email set
        status = outcome.status,
        message_id = outcome.message_id,
        error = outcome.error,
        refusal = outcome.refusal,
        due_at = ${claim.dueAt},
        retry_at = case when outcome.kind = 'again'
          then now() + make_interval(secs => outcome.delay_ms / 1000.0) else email.retry_at end,
        -- Released and withheld messages were not given to the mail provider.
        attempts = email.attempts + ${claim.attempt}::int
          - case when outcome.kind in ('released', 'withheld') then 1 else 0 end,
        ${claim.columns}
        derived_events = ${claim.derived},
        lease_until = case when outcome.status = 'SENDING' then now() end,
        sent_at = case when outcome.kind = 'accepted' then clock_timestamp() end,
        delivered_at = case when outcome.status = 'DELIVERED' then clock_timestamp() end,
        delivery_unreported = outcome.unreported,
        ${contentOfOutcome},
        trace = case
          when ${claim.isPlain} then ${claim.tracePlain}
          when outcome.kind = 'accepted' then
            ${claim.trace}
              || ${traceEntry('accepted', acceptedDetail(sql`outcome.message_id`, claim.providerId))}
              || case when outcome.status = 'DELIVERED'
                then ${traceEntry('delivered')} else '[]' end
          when outcome.kind = 'refused' then
            ${claim.trace} || ${traceEntry('refused', sql`jsonb_build_object('error', outcome.error)`)}
          when outcome.kind = 'again' then
            ${claim.trace} || ${traceEntry('refused', sql`jsonb_build_object('error', outcome.error, 'nextTryInMs', outcome.delay_ms)`)}
          when outcome.kind = 'uncertain' then
            ${claim.trace} || ${traceEntry('uncertain', sql`jsonb_build_object('reason', outcome.error)`)}
          when outcome.kind = 'withheld' then
            ${claim.traceBefore}
              || ${traceEntry('withheld', sql`jsonb_build_object('reason', outcome.error)`)}
          else ${claim.traceBefore}
        end,
        updated_at = now()
      from jsonb_to_recordset(${outcomes}::jsonb)
        as outcome(id uuid, kind text, status text, message_id text, error text, refusal text,
          unreported boolean, delay_ms int, subject text, body text, body_template text, body_values jsonb, headers jsonb)
        ${claim.joined}
      where email.id = outcome.id and ${among('email', emailIdsOf(attempt.outcomes))} and ${claim.isHeld}
      returning ${ledgerColumns('email')},
        case when ${hasStored} then ${eventSourceJson} end as "eventSource"
    ), ${following({ now: 'settled' }, [...whenAccepted, ...whenFailing])}, counted as (
      ${tallying('settled')}
    ) ${isLogged ? sql`, logged as (${loggingDerived(attempt.projectId, 'settled')})` : sql``}
    select id, status, sent_at is not null as "isSent", "eventSource" from settled`.execute(tx);
  return rows;
}

/**
 * Adds the provider's response to messages that were settled before it was recorded: by faster
 * feedback, or by policy because the response took too long. Accepted mail stays accepted.
 */
async function recordOvertaken(
  tx: Database,
  { outcomes }: Attempt,
  claim: Claim,
  settled: readonly SettledEmail[],
): Promise<void> {
  const ids = new Set(settled.map(({ id }) => id));
  const overtaken = outcomes.filter(
    ({ emailId, kind, content }) => !ids.has(emailId) && (content || kind === 'accepted'),
  );
  if (overtaken.length === 0) return;
  const records = storableJson(overtaken.map(outcomeOf));
  const { rows } = await sql<{
    id: string;
    message_id: string | null;
    news: 'accepted' | 'delivery' | null;
  }>`
    with overtaken as (
      update email set ${contentOfOutcome}, ${claim.columns}
          attempts = email.attempts + ${claim.attempt}::int,
          trace = ${claim.traceOvertaken},
          message_id = coalesce(email.message_id, outcome.message_id)
        from jsonb_to_recordset(${records}::jsonb)
          as outcome(id uuid, kind text, status text, message_id text, subject text, body text,
            body_template text, body_values jsonb, headers jsonb)
          ${claim.joined}
        where email.id = outcome.id and ${among('email', emailIdsOf(overtaken))} and ${claim.wasHeld}
        returning ${ledgerColumns('email')}, case
          when outcome.status = 'DELIVERED' and email.delivered_at is null then 'delivery'
          when outcome.kind = 'accepted' and email.sent_at is null then 'accepted'
          end as news
    ), ${following({ now: 'overtaken' }, ['providerMessages'])}
    select id, message_id, news from overtaken`.execute(tx);
  const reports = rows.flatMap(({ id: emailId, message_id: messageId, news }) =>
    news ? [{ emailId, messageId, feedback: [{ kind: news, at: new Date() }], ...unrepeated }] : [],
  );
  const unreported = new Set(
    overtaken.flatMap((outcome) =>
      outcome.kind === 'accepted' && outcome.isUnreported ? outcome.emailId : [],
    ),
  );
  await recordReports(tx, reports, ({ id }) => unreported.has(id));
}

const unrepeated = { acceptedAt: null, receipt: null };

/** Records reports in the transaction of the outcomes, so that a crash loses none. */
async function recordReports(
  tx: Database,
  reports: readonly FeedbackReport[],
  isUnreported?: FeedbackOptions['isUnreported'],
): Promise<void> {
  if (reports.length === 0) return;
  const found = (await findReportedMessages(tx, reports)).filter((report) => report !== null);
  await recordFeedback(tx, found, { judge: null, ...(isUnreported && { isUnreported }) });
}

/**
 * Returns JSON that PostgreSQL can store, because one unstorable text would fail a whole batch of
 * outcomes.
 */
function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!mayHaveForbiddenText(json)) return json;
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'string' ? storableText(part) : part,
  );
}

function emailIdsOf(outcomes: readonly DeliveryOutcome[]): string[] {
  return outcomes.map(({ emailId }) => emailId);
}

function outcomeOf(outcome: DeliveryOutcome) {
  const { kind, emailId: id, content } = outcome;
  const isDelivered = kind === 'accepted' && outcome.delivered;
  return {
    id,
    kind,
    status: isDelivered ? 'DELIVERED' : statuses[kind],
    message_id: kind === 'accepted' ? outcome.messageId : null,
    unreported: kind === 'accepted' && outcome.isUnreported === true,
    error: 'error' in outcome ? outcome.error : kind === 'withheld' ? outcome.reason : null,
    refusal: kind === 'refused' ? (outcome.refusal ?? 'provider_refused') : null,
    delay_ms: 'delayMs' in outcome ? (outcome.delayMs ?? 0) : 0,
    ...(content && {
      subject: content.subject,
      ...(content.headers && { headers: content.headers }),
      ...('body' in content
        ? { body: content.body }
        : { body_template: content.bodyTemplate, body_values: content.values }),
    }),
  };
}

interface SettledEmail {
  id: string;
  status: string;
  isSent: boolean;
  /** Data for the events that must be stored; null: there are none. */
  eventSource: EventSource | null;
}

interface EventSource {
  id: string;
  contact_id: string;
  subject: string;
  from_email: string;
  from_name: string | null;
  message_id: string | null;
  template_id: string | null;
  campaign_id: string | null;
  source_type: string;
  sent_at: string | null;
  delivered_at: string | null;
  derived_events: number;
}

/**
 * SQL that is true if an event of a message must be stored, because it is not derived from the row.
 */
const hasStored = sql<boolean>`(${sql.join(
  derivedEvents.map(
    ({ at, bit }) =>
      sql`(${sql.ref(`email.${at}`)} is not null and email.derived_events & ${sql.lit(bit)} = 0)`,
  ),
  sql` or `,
)})`;

const eventSourceJson = sql<EventSource>`jsonb_build_object(
  'id', email.id, 'contact_id', email.contact_id, 'subject', email.subject,
  'from_email', email.from_email, 'from_name', email.from_name, 'message_id', email.message_id,
  'template_id', email.template_id, 'campaign_id', email.campaign_id,
  'source_type', email.source_type, 'derived_events', email.derived_events,
  'sent_at', ${isoTime(sql`email.sent_at`)}, 'delivered_at', ${isoTime(sql`email.delivered_at`)})`;

/** Returns the events of a message that must be stored. */
function sentEvents({ eventSource: email }: SettledEmail): NewEvent[] {
  if (!email) return [];
  const base = emailEventData(email, email.message_id);
  return derivedEvents.flatMap(({ name, bit, at, field }) => {
    const moment = email[at];
    if (moment === null || email.derived_events & bit) return [];
    const data = { ...base, [field]: moment };
    return [{ contactId: email.contact_id, emailId: email.id, name, data }];
  });
}

/**
 * Ends messages whose outcome stayed unknown for the settle time. With the policy `resend`, a
 * message is due once more, if it has attempts left and its campaign has not ended. Otherwise it is
 * FAILED with `delivery_unknown`. Its row keeps the id of the attempt, because the outcome may
 * still arrive. Signals the runs of the campaigns. Returns the number of messages.
 */
export async function settleUncertainEmails(
  db: Database,
  given: { settleMinutes: number; policy: 'fail' | 'resend'; max: number },
): Promise<number> {
  return transact(db, async (tx) => {
    const detail = sql`jsonb_build_object('by', 'policy', 'policy', ${given.policy}::text)`;
    const settledBefore = sql`now() - make_interval(mins => ${given.settleMinutes}::int)`;
    const { rows } = await sql<{ campaign_id: string | null }>`
      with unknown as (
        select email.id,
            ${given.policy} = 'resend' and attempts < ${sendAttemptsMax}
              and (email.campaign_id is null or exists (
                select from campaign where campaign.id = email.campaign_id
                  and campaign.status in ('SENDING', 'PAUSED'))) as resend
          from email_queue queued join email on email.id = queued.email_id
          where queued.lease_until < ${settledBefore} and status = 'SENDING'
            and email.lease_until < ${settledBefore}
          limit ${given.max} for update of email skip locked
      ), settled as (
        update email set
            status = case when resend then 'PENDING' else 'FAILED' end,
            error = case when resend then null else 'delivery_unknown' end,
            lease_until = null, updated_at = now(), ${dueAgain(sql`resend`, sql`now()`)},
            trace = trace || ${traceEntry('settled', detail)} || ${heldAgain(sql`resend`)}
          from unknown where email.id = unknown.id
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'settled' }, whenFailing)}
      select campaign_id from settled`.execute(tx);
    const campaigns = new Set(rows.flatMap((row) => row.campaign_id ?? []));
    const named = await tx
      .selectFrom('campaign')
      .select(['id', 'project_id', 'name'])
      .where('id', '=', anyOf([...campaigns]))
      .execute();
    for (const campaign of named) await signalCampaign(tx, campaign);
    return rows.length;
  });
}
