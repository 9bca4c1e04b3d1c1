import { sql } from 'kysely';
import {
  applyFeedback,
  type CampaignCounter,
  type Feedback,
  type FeedbackEffects,
  isSimulator,
  type MessageState,
  simulatedFeedback,
} from '../../domain/mail/feedback.ts';
import type { Measure } from '../../domain/sender/reputation.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import type { Database } from '../database.ts';
import { deleteInPages } from '../pages.ts';
import { recordEvents } from '../events/events.ts';
import { disableForReputation } from '../projects/reputation.ts';

/** Identifies a message: by our own id, else by the provider's. */
export interface MessageName {
  emailId: string | null;
  messageId: string | null;
}

/**
 * Records feedback on a message and its consequences, in the caller's transaction: the message, its
 * trace and events, its contact, its campaign, and the reputation of its project. Returns false
 * when there is no such message.
 * Repeated feedback counts again: a caller that may receive it twice must deduplicate.
 * @param given.opensApartMs an open counts when the previous one is longer ago than this; checked
 *   again under the lock of the message, so that of several at one moment one counts. Absent: each
 *   counts.
 * @param given.acceptedAt when the provider accepted the message, where it reports that.
 * @param given.autoDisable whether a project of bad reputation is disabled.
 */
export async function recordFeedback(
  tx: Database,
  given: {
    message: MessageName;
    feedback: Feedback;
    acceptedAt: Date | null;
    autoDisable: boolean;
    opensApartMs?: number;
  },
): Promise<boolean> {
  const { message, feedback } = given;
  const found = await findMessage(tx, message);
  if (!found) return false;
  const apartMs = feedback.kind === 'open' ? given.opensApartMs : undefined;
  // Before any lock: frequent repeats block nobody.
  if (apartMs && (await wasOpenedWithin(tx, found, apartMs))) return true;
  const measure = measureOf(feedback);
  // Locked before the contact, as everywhere: the project may be disabled below.
  if (measure && given.autoDisable) await lockProject(tx, found.project_id);
  const email = await lockMessage(tx, found);
  if (apartMs && (await wasOpenedWithin(tx, found, apartMs))) return true;
  const effects = email && applyFeedback(stateOf(email), feedback, { ...given, ...message });
  if (!email || !effects) return true;
  await updateMessage(tx, email.id, effects);
  if (effects.unsubscribes) await unsubscribe(tx, email);
  await recordEvents(tx, email.project_id, eventsOf(email, effects), { contactsLocked: true });
  if (measure && given.autoDisable && !isSimulator(email.to_email)) {
    await disableForReputation(tx, email.project_id, measure);
  }
  // Last, because all mail of the campaign waits for this row.
  if (email.campaign_id) await countForCampaign(tx, email, effects);
  return true;
}

/** What feedback means for the sender's reputation. */
function measureOf(feedback: Feedback): Measure | null {
  if (feedback.kind === 'complaint') return 'complaints';
  const isFinal = feedback.kind === 'bounce' && feedback.bounceType !== 'Transient';
  return isFinal ? 'bounces' : null;
}

interface FoundMessage {
  id: string;
  project_id: string;
  contact_id: string;
}

async function findMessage(
  tx: Database,
  { emailId, messageId }: MessageName,
): Promise<FoundMessage | undefined> {
  const sent = tx
    .selectFrom('email')
    .select(['id', 'project_id', 'contact_id'])
    // Written out as a literal, to match the index of provider ids, which covers sent mail only.
    .where('source_type', '<>', sql.lit('INBOUND'));
  const byId = emailId && (await sent.where('id', '=', emailId).executeTakeFirst());
  if (byId || !messageId) return byId || undefined;
  return sent.where('message_id', '=', messageId).executeTakeFirst();
}

async function lockProject(tx: Database, projectId: string): Promise<void> {
  await sql`select from project where id = ${projectId} for no key update`.execute(tx);
}

/** Locks the contact, then the message; undefined when it no longer exists. */
async function lockMessage(tx: Database, { id, contact_id: contactId }: FoundMessage) {
  await sql`select from contact where id = ${contactId} for no key update`.execute(tx);
  return tx
    .selectFrom('email')
    .select(['id', 'project_id', 'contact_id', 'campaign_id', 'template_id', 'source_type'])
    .select(['subject', 'from_email', 'from_name', 'to_email', 'attempts', 'status', 'error'])
    .select(['message_id', 'sent_at', 'delivered_at', 'opened_at', 'clicked_at', 'bounced_at'])
    .select(['complained_at', 'opens', 'clicks'])
    .select(sql<boolean>`(lease_until is not null and lease_until > now())`.as('is_under_way'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Whether an open of the message was recorded in the last `apartMs` milliseconds. */
async function wasOpenedWithin(
  tx: Database,
  { id, contact_id: contactId }: FoundMessage,
  ms: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from event
      where contact_id = ${contactId} and name = 'email.open' and email_id = ${id}
        and recorded_at > clock_timestamp() - make_interval(secs => ${ms / 1000})
      limit 1`.execute(tx);
  return rows.length > 0;
}

type LockedMessage = NonNullable<Awaited<ReturnType<typeof lockMessage>>>;

function stateOf(email: LockedMessage): Parameters<typeof applyFeedback>[0] {
  return {
    status: email.status as MessageState['status'],
    error: email.error,
    message_id: email.message_id,
    sent_at: email.sent_at,
    delivered_at: email.delivered_at,
    opened_at: email.opened_at,
    clicked_at: email.clicked_at,
    bounced_at: email.bounced_at,
    complained_at: email.complained_at,
    opens: email.opens,
    clicks: email.clicks,
    attempts: email.attempts,
    isUnderWay: email.is_under_way,
  };
}

/** Longest provider text stored, in characters. */
const errorCharsMax = 500;

async function updateMessage(tx: Database, id: string, effects: FeedbackEffects): Promise<void> {
  const { state, trace } = effects;
  const entries = trace.map(
    (entry) => sql`|| trace_entry(${entry.state}, ${JSON.stringify(entry.detail)}::jsonb)`,
  );
  await tx
    .updateTable('email')
    .set({
      ...state,
      error: state.error?.slice(0, errorCharsMax) ?? null,
      // Feedback ends every attempt: no state it sets is one of being handed over.
      lease_until: null,
      trace: sql`trace ${sql.join(entries, sql` `)}`,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .execute();
}

/** Without an event: the contact did not ask for it. Other addresses are not the contact's. */
async function unsubscribe(tx: Database, email: LockedMessage): Promise<void> {
  await tx
    .updateTable('contact')
    .set({ subscribed: false, updated_at: sql<Date>`now()` })
    .where('id', '=', email.contact_id)
    .where('email', '=', email.to_email)
    .where('subscribed', '=', true)
    .execute();
}

/** The data that every event of a message has. */
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

function eventsOf(email: LockedMessage, { state, events }: FeedbackEffects) {
  const base = emailEventData(email, state.message_id);
  return events.map(({ name, data }) => ({
    contactId: email.contact_id,
    emailId: email.id,
    name,
    data: { ...base, ...data },
  }));
}

/** Signals the campaign's run when it waits for the outcome of the message. */
async function countForCampaign(
  tx: Database,
  email: LockedMessage,
  { counters, state }: FeedbackEffects,
): Promise<void> {
  const isOver = state.status === 'FAILED' ? email.status !== 'FAILED' : email.sent_at === null;
  if (counters.length === 0 && !isOver) return;
  const one = (counter: CampaignCounter) =>
    counters.includes(counter)
      ? sql<number>`${sql.ref(counter)} + 1`
      : sql<number>`${sql.ref(counter)}`;
  const campaign = await tx
    .updateTable('campaign')
    .set({
      sent_count: one('sent_count'),
      delivered_count: one('delivered_count'),
      opened_count: one('opened_count'),
      clicked_count: one('clicked_count'),
      bounced_count: one('bounced_count'),
      complained_count: one('complained_count'),
    })
    .where('id', '=', email.campaign_id)
    .returning(['id', 'project_id', 'name', 'status'])
    .executeTakeFirst();
  if (campaign && isOver) await signalCampaign(tx, campaign);
}

/** Records that a notification is being handled. False: it was handled before. */
export async function insertSnsReceipt(tx: Database, messageId: string): Promise<boolean> {
  const inserted = await tx
    .insertInto('sns_receipt')
    .values({ message_id: messageId })
    .onConflict((conflict) => conflict.doNothing())
    .returning('message_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

/**
 * Records, in the caller's transaction, the simulator's report on a message to one of its
 * addresses: once, like a provider's notification.
 */
export async function recordSimulatedFeedback(
  tx: Database,
  { emailId, address }: { emailId: string; address: string },
): Promise<void> {
  if (!(await insertSnsReceipt(tx, `simulator ${emailId}`))) return;
  const about = { message: { emailId, messageId: null }, acceptedAt: null, autoDisable: false };
  for (const feedback of simulatedFeedback(address, new Date()) ?? []) {
    await recordFeedback(tx, { ...about, feedback });
  }
}

/** SNS repeats a notification for hours at most, never after 30 days. */
export async function deleteOldSnsReceipts(db: Database): Promise<void> {
  const where = sql<boolean>`created_at < now() - interval '30 days'`;
  await deleteInPages(db, { table: 'sns_receipt', where, rows: 5000 });
}
