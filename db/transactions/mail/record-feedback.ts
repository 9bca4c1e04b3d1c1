import { sql } from 'kysely';
import { lockContacts } from '../../contacts/contacts.ts';
import { type Database, transact } from '../../database.ts';
import { countReports } from '../../delivery/report-counts.ts';
import { storeDerived } from '../../events/derived.ts';
import { anyOf } from '../../expressions.ts';
import { providerOf } from '../../sql/mail-claims.ts';
import { isClaimedByChunk } from '../../sql/mail-status.ts';
import { hasRamp } from '../../sql/send-policy.ts';
import type { NewEngagement } from '../../engagement/engagement.ts';
import { type BadAddress, suppressBadAddresses } from '../../suppression/feedback.ts';
import { type ProjectEvent, recordEventsOfProjects } from '../events/record-events.ts';
import { countForCampaigns } from './feedback/campaigns.ts';
import { judgeDelivered, requestOf } from './feedback/engagement.ts';
import { updateMessages } from './feedback/messages.ts';
import { unsubscribe } from './feedback/opt-outs.ts';
import { stopRamps } from './feedback/ramps.ts';
import {
  answerLostReports,
  type FeedbackAnswer,
  type FeedbackReport,
  findReportedMessages,
  type FoundReport,
} from './reports.ts';
import {
  applyFeedback,
  type Feedback,
  type FeedbackEffects,
  isSimulator,
  type MessageState,
  simulatedFeedback,
  wasHandedOver,
} from '../../../domain/mail/feedback.ts';
import type { Measure } from '../../../domain/sender/reputation.ts';

/**
 * Seconds within which opens of one message count once, because proxies and previews load the pixel
 * again.
 */
const opensApartSeconds = 10;

/**
 * Evaluates the reputation of a project after a measure has changed, in a transaction that has
 * locked the project's row.
 */
export type JudgeReputation = (tx: Database, projectId: string, measure: Measure) => Promise<void>;

/** A message whose acceptance only its feedback has shown. */
export interface SettledMessage {
  id: string;
  /** The message's mail provider; null: the default one. */
  providerId: string | null;
}

export interface FeedbackOptions {
  /** Disables a project of bad reputation; null: none is disabled. */
  judge: JudgeReputation | null;
  /**
   * Returns true if nothing reports the delivery of a message, so that it can only be assumed.
   * Absent: deliveries are reported.
   */
  isUnreported?: (message: SettledMessage) => boolean;
  /**
   * Does not wait for contacts and messages that other transactions have locked: the result for a
   * report on these is null.
   */
  skipsLocked?: boolean;
}

/**
 * Records reports on messages of any projects with all consequences, in the caller's transaction:
 * the messages, their traces and events, their contacts, their campaigns, and the reputation of the
 * projects. Reports on one message apply in order.
 *
 * The number of statements does not depend on the number of reports, except for effects of events,
 * reputations and campaigns. Locks are taken in the common order: projects that may be disabled,
 * contacts, messages, campaigns; each kind by id.
 * @returns a result for each report, in order
 */
export async function recordFeedback(
  tx: Database,
  reports: readonly FoundReport[],
  options: FeedbackOptions,
): Promise<(FeedbackAnswer | null)[]> {
  const judged = options.judge ? reports.filter(concernsReputation) : [];
  if (judged.length > 0) {
    await lockProjects(
      tx,
      judged.map(({ projectId }) => projectId),
    );
  }
  const skipsLocked = options.skipsLocked ?? false;
  const contactIds = reports.map(({ contactId }) => contactId);
  const contacts = new Set(await lockContacts(tx, contactIds, { skipsLocked }));
  const emails = await lockMessages(
    tx,
    reports.filter(({ contactId }) => contacts.has(contactId)),
    skipsLocked,
  );
  const locked = new Set(emails.map(({ id }) => id));
  const isNew = await insertReceipts(
    tx,
    reports.filter(({ emailId }) => locked.has(emailId)),
  );
  const answers = reports.map((report) => {
    if (!locked.has(report.emailId)) return skipsLocked ? null : 'unknown';
    return isNew(report) ? 'recorded' : 'duplicate';
  });
  const changes = changesOf(
    emails,
    reports.filter((_, index) => answers[index] === 'recorded'),
    options,
  );
  const all = [...changes.values()];
  const changed = all.filter(
    ({ events, trace, unsubscribes }) => events.length + trace.length > 0 || unsubscribes,
  );
  // Events of messages that have failed cannot be read from their rows.
  const failed = changed.filter(
    ({ email, state }) => state.status === 'FAILED' && email.derived_events > 0,
  );
  if (failed.length > 0)
    await storeDerived(
      tx,
      failed.map(({ email }) => email.id),
    );
  await judgeDelivered(tx, changed);
  await updateMessages(
    tx,
    changed,
    all.flatMap(({ requests }) => requests),
  );
  if (changed.length > 0) {
    const left = await unsubscribe(tx, changed);
    await suppressBadAddresses(tx, changed.flatMap(badAddressesOf));
    const events = [...changed.flatMap(eventsOf), ...left];
    if (events.length > 0) await recordEventsOfProjects(tx, events);
    if (options.judge) await judgeProjects(tx, changed, options.judge);
    // Locks campaigns late, because every attempt of a campaign waits for this lock.
    await countForCampaigns(tx, changed);
    await stopRamps(tx, changed);
  }
  const reported = all.flatMap(({ email, reported: kinds }) =>
    kinds.map((kind) => ({ projectId: email.project_id, kind })),
  );
  await countReports(tx, reported);
  return answers;
}

/** Records one report in a transaction of its own. */
export function recordSingleReport(
  db: Database,
  report: FeedbackReport,
  options: Omit<FeedbackOptions, 'skipsLocked'>,
): Promise<FeedbackAnswer> {
  return transact(db, async (tx) => {
    const [found] = await findReportedMessages(tx, [report]);
    const [answer] = found
      ? await recordFeedback(tx, [found], options)
      : await answerLostReports(tx, [report]);
    return answer ?? 'unknown';
  });
}

/** Returns true if a project may be disabled because of a report. */
export function concernsReputation({ feedback }: FeedbackReport): boolean {
  return feedback.some(measureOf);
}

/** Returns the reputation measure that feedback counts for; null: it counts for none. */
function measureOf(feedback: Feedback): Measure | null {
  if (feedback.kind !== 'complaint' && feedback.kind !== 'bounce') return null;
  if (feedback.isListed) return null;
  if (feedback.kind === 'complaint') return 'complaints';
  return feedback.bounceType === 'Transient' ? null : 'bounces';
}

async function lockProjects(tx: Database, ids: readonly string[]): Promise<void> {
  await sql`
    select from project where id = ${anyOf([...new Set(ids)])} order by id
      for no key update`.execute(tx);
}

/**
 * Records the receipts of reports, and returns a function that is true for a report whose receipt
 * is new. Inserts do not wait for each other: reports with the same receipt concern the same
 * contact, which this transaction has locked.
 */
async function insertReceipts(
  tx: Database,
  reports: readonly FoundReport[],
): Promise<(report: FoundReport) => boolean> {
  const receipts = reports.flatMap(({ receipt }) => receipt ?? []);
  if (receipts.length === 0) return () => true;
  const { rows } = await sql<{ id: string }>`
    insert into report_receipt (id) select unnest(${receipts}::text[])
      on conflict do nothing returning id`.execute(tx);
  const left = new Set(rows.map((row) => row.id));
  // Only the first of two reports with the same receipt counts.
  return ({ receipt }) => receipt === null || left.delete(receipt);
}

/** Locks messages and reads the values that feedback depends on. Deleted messages are left out. */
async function lockMessages(tx: Database, reports: readonly FoundReport[], skipsLocked: boolean) {
  const ids = new Set(reports.map(({ emailId }) => emailId));
  const own = new Set(reports.flatMap((one) => (one.isOwnTracking ? one.emailId : [])));
  return (
    tx
      .selectFrom('email')
      .select(['id', 'project_id', 'contact_id', 'campaign_id', 'template_id', 'source_type'])
      .select(['subject', 'from_email', 'from_name', 'to_email', 'status', 'error'])
      .select(['message_id', 'sent_at', 'delivered_at', 'opened_at', 'clicked_at', 'bounced_at'])
      .select(['complained_at', 'unsubscribed_at', 'bounce_listed', 'complaint_listed'])
      .select(['opens', 'clicks', 'derived_events', 'delivery_unreported'])
      .select(providerOf('email').as('provider_id'))
      .select(hasRamp(sql.ref('email.project_id')).as('has_ramp'))
      // The rows of a claimed chunk do not count its attempt before the outcome is recorded.
      .select(sql<number>`attempts + ${isClaimedByChunk('email')}::int`.as('attempts'))
      .select(
        sql<boolean>`(coalesce(lease_until > now(), false) or ${isClaimedByChunk('email')})`.as(
          'is_under_way',
        ),
      )
      .select(wasOpenedLately([...own]).as('was_opened_lately'))
      .select(sql<string[]>`jsonb_path_query_array(trace, '$[*].state')`.as('traced'))
      .select(sql<Date>`clock_timestamp()`.as('now'))
      .where('id', '=', anyOf([...ids]))
      .orderBy('id')
      .forUpdate()
      .$if(skipsLocked, (query) => query.skipLocked())
      .execute()
  );
}

/**
 * SQL that is true if an open of a message was recorded in the last `opensApartSeconds`. It is
 * false for messages that are not in `ids`.
 */
function wasOpenedLately(ids: readonly string[]) {
  return sql<boolean>`(email.id = any(${ids}::uuid[]) and exists (
    select from event inner_open_event
      where inner_open_event.contact_id = email.contact_id
        and inner_open_event.name = 'email.open' and inner_open_event.email_id = email.id
        and inner_open_event.recorded_at > clock_timestamp() - make_interval(secs => ${opensApartSeconds})))`;
}

type LockedMessage = Awaited<ReturnType<typeof lockMessages>>[number];

interface MessageChange extends Omit<FeedbackEffects, 'trace'> {
  email: LockedMessage;
  trace: (FeedbackEffects['trace'][number] & { at: Date })[];
  measures: Measure[];
  /** Kinds of the reports by other servers. */
  reported: Feedback['kind'][];
  /** True if nothing reports the delivery of the message. */
  isUnreported: boolean;
  /** Reasons for suppressing the recipient's address, in the order of the reports. */
  badAddress: BadAddress['reason'][];
  /** Requests to the message's pixel and links. */
  requests: NewEngagement[];
}

function changesOf(
  emails: readonly LockedMessage[],
  reports: readonly FoundReport[],
  options: FeedbackOptions,
): Map<string, MessageChange> {
  const changes = new Map(emails.map((email) => [email.id, unchanged(email)]));
  for (const report of reports) {
    const change = changes.get(report.emailId);
    if (!change) continue;
    for (const feedback of report.feedback) apply(change, feedback, report, options);
  }
  return changes;
}

function unchanged(email: LockedMessage): MessageChange {
  const state: MessageState = {
    status: email.status as MessageState['status'],
    error: email.error,
    message_id: email.message_id,
    sent_at: email.sent_at,
    delivered_at: email.delivered_at,
    opened_at: email.opened_at,
    clicked_at: email.clicked_at,
    bounced_at: email.bounced_at,
    complained_at: email.complained_at,
    unsubscribed_at: email.unsubscribed_at,
    bounce_listed: email.bounce_listed,
    complaint_listed: email.complaint_listed,
    opens: email.opens,
    clicks: email.clicks,
  };
  return {
    email,
    state,
    trace: [],
    events: [],
    counters: [],
    unsubscribes: null,
    measures: [],
    reported: [],
    isUnreported: email.delivery_unreported,
    badAddress: [],
    requests: [],
  };
}

function apply(
  change: MessageChange,
  feedback: Feedback,
  report: FoundReport,
  { isUnreported }: FeedbackOptions,
): void {
  const { email } = change;
  const isOwnOpen = report.isOwnTracking && feedback.kind === 'open';
  const request = requestOf(report, feedback);
  // Every open is judged, although it counts once, so that a machine's open cannot hide a person's.
  if (request && ((isOwnOpen && email.was_opened_lately) || feedback.kind === 'head')) {
    if (wasHandedOver({ ...change.state, attempts: email.attempts })) change.requests.push(request);
    return;
  }
  const { attempts, is_under_way: isUnderWay } = email;
  const traced = [...email.traced, ...change.trace.map(({ state }) => state)];
  const before = { ...change.state, attempts, isUnderWay, traced };
  if ('report' in feedback && feedback.report && wasHandedOver(before))
    change.reported.push(feedback.kind);
  const effects = applyFeedback(before, feedback, report);
  if (!effects) return;
  if (request) change.requests.push(request);
  if (feedback.kind === 'open') email.was_opened_lately = true;
  if (before.sent_at === null && isUnreported) {
    change.isUnreported = isUnreported({ id: email.id, providerId: email.provider_id });
  }
  change.state = effects.state;
  change.trace.push(...effects.trace.map((entry) => ({ at: email.now, ...entry })));
  change.events.push(...effects.events);
  change.counters.push(...effects.counters);
  change.unsubscribes ??= effects.unsubscribes;
  const measure = measureOf(feedback);
  if (measure) change.measures.push(measure);
  if (feedback.kind === 'complaint') change.badAddress.push('complaint');
  if (feedback.kind === 'bounce' && feedback.bounceType === 'Permanent') {
    change.badAddress.push('hard_bounce');
  }
}

function badAddressesOf({ email, badAddress }: MessageChange): BadAddress[] {
  const { id: emailId, project_id: projectId, to_email: address } = email;
  return badAddress.map((reason) => ({ projectId, email: address, emailId, reason }));
}

export function emailEventData(
  email: Pick<
    LockedMessage,
    'id' | 'subject' | 'from_email' | 'from_name' | 'template_id' | 'campaign_id' | 'source_type'
  >,
  messageId: string | null,
) {
  return {
    subject: email.subject,
    from: email.from_email,
    fromName: email.from_name,
    messageId,
    emailId: email.id,
    templateId: email.template_id,
    campaignId: email.campaign_id,
    sourceType: email.source_type,
  };
}

function eventsOf({ email, state, events }: MessageChange): ProjectEvent[] {
  const base = emailEventData(email, state.message_id);
  return events.map(({ name, data }) => ({
    projectId: email.project_id,
    contactId: email.contact_id,
    emailId: email.id,
    name,
    data: { ...base, ...data },
  }));
}

/** Disables the projects that these changes have brought over a limit. */
async function judgeProjects(
  tx: Database,
  changes: readonly MessageChange[],
  judge: JudgeReputation,
): Promise<void> {
  // Mail to the simulator does not affect reputation.
  const real = changes.filter(({ email }) => !isSimulator(email.to_email));
  for (const id of [...new Set(real.map(({ email }) => email.project_id))].toSorted()) {
    const own = real.filter(({ email }) => email.project_id === id);
    for (const measure of new Set(own.flatMap(({ measures }) => measures))) {
      await judge(tx, id, measure);
    }
  }
}

/**
 * Returns the simulator's report on a message to one of its addresses. Because of the receipt, it
 * is recorded once.
 */
export function simulatedReport(emailId: string, address: string): FeedbackReport {
  return {
    emailId,
    messageId: null,
    feedback: simulatedFeedback(address, new Date()) ?? [],
    acceptedAt: null,
    receipt: `simulator ${emailId}`,
  };
}
