import { sql } from 'kysely';
import type { ConsentOrigin } from '../../consent/log.ts';
import { endOptIns, requestOptIn } from '../../consent/opt-ins.ts';
import { publicContact, type PublicContact } from '../../contacts/public-contact.ts';
import type { Database } from '../../database.ts';
import { type TopicContact, findMail, type LinkMail } from '../../reads/link-contact.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { findErased, liftSuppression } from '../../suppression/erased.ts';
import { recordSuppressions } from '../../suppression/list.ts';
import { listContactTopics } from '../../topics/choices.ts';
import { recordTopicChoices } from './choose-topics.ts';
import { recordSubscription } from './record-contact.ts';
import { erasedAddress } from '../../../domain/contact/erasure.ts';

/** Changes that a link requests. Absent fields stay as they are. */
export interface LinkRequest {
  subscribed?: boolean;
  /** Choices by the ids of topics. */
  choices?: ReadonlyMap<string, boolean>;
  /** True if the link requests to leave a topic, or all mail. */
  isOptOut: boolean;
  /** Text that the person has read; null: unknown. */
  text: string | null;
}

/**
 * Changes subscriptions as the link of a mail requests, in the caller's transaction.
 * - Events are recorded only for actual changes. They name the message if it was sent to the
 *   contact's address.
 * - An opt-out is stored in the message, and counted once for its campaign. If the message was sent
 *   to another address, the opt-out applies only to that address.
 * - If the project requires opt-in, and the link is not from a message to the contact's address, a
 *   new subscription must be confirmed first.
 * @returns the new state of the contact; undefined when there is no such contact
 */
export async function recordLinkChange(
  tx: Database,
  change: {
    contactId: string;
    /** The message with the link. */
    emailId: string | null;
    /** Consent evidence; its text comes from the request. */
    origin: ConsentOrigin;
    /** True if the topics of the contact are needed. */
    hasTopics: boolean;
    /** Returns the changes requested for a contact in this state. */
    requestOf: (before: TopicContact) => LinkRequest;
  },
): Promise<TopicContact | undefined> {
  const row = await publicContact(tx, change.contactId)
    .forNoKeyUpdate('contact')
    .executeTakeFirst();
  if (!row) return undefined;
  const found = row as PublicContact;
  const before = { ...found, topics: change.hasTopics ? await listContactTopics(tx, found) : [] };
  const asked = change.requestOf(before);
  const mail = await findMail(tx, before, change.emailId);
  if (mail && !mail.isOwn && asked.isOptOut) return optOutReader(tx, before, mail);
  const emailId = mail?.isOwn ? mail.id : null;
  const isConfirmed = emailId !== null || !before.opt_in_required;
  const request = isConfirmed ? asked : withoutGrants(asked);
  const { subscribed = before.subscribed, choices = new Map<string, boolean>() } = request;
  const isKept = request.subscribed === true && !(await maySubscribe(tx, before, emailId));
  const contact = { ...before, subscribed: isKept ? before.subscribed : subscribed };
  const origin = { ...change.origin, text: request.text };
  if (before.subscribed !== contact.subscribed) {
    await tx
      .updateTable('contact')
      .set({ subscribed: contact.subscribed, updated_at: sql<Date>`now()` })
      .where('id', '=', contact.id)
      .execute();
    await recordSubscription(tx, contact, origin, { emailId });
  }
  await recordTopicChoices(tx, contact, choices, { origin, emailId });
  if (!isConfirmed && asksForGrants(asked)) {
    const topicIds = [...(asked.choices ?? [])].flatMap(([id, isJoined]) => (isJoined ? [id] : []));
    await requestOptIn(tx, contact, { topicIds, origin });
  }
  const isOver = request.subscribed === false && before.consent === 'pending';
  if (isOver) await endOpen(tx, before, origin);
  if (request.isOptOut && emailId) await recordOptOut(tx, emailId);
  const topics = before.topics.map((topic) => ({
    ...topic,
    subscribed: choices.get(topic.id) ?? topic.subscribed,
  }));
  return { ...contact, topics };
}

/** Returns true if a request asks for a subscription, to all mail or to a topic. */
function asksForGrants({ subscribed, choices }: LinkRequest): boolean {
  return subscribed === true || [...(choices?.values() ?? [])].includes(true);
}

/**
 * Returns a request without the subscriptions that must be confirmed first. The rest takes effect
 * at once.
 */
function withoutGrants({ subscribed, choices, ...request }: LinkRequest): LinkRequest {
  return {
    ...request,
    ...(subscribed === false && { subscribed }),
    ...(choices && { choices: new Map([...choices].filter(([, isJoined]) => !isJoined)) }),
  };
}

async function endOpen(
  tx: Database,
  { id: contactId, project_id: projectId, subscribed: isLogged }: PublicContact,
  { source, ...evidence }: ConsentOrigin,
): Promise<void> {
  await endOptIns(tx, [{ contactId, projectId, source, isLogged }], evidence);
}

/**
 * Returns true if a request with a contact's link may subscribe the contact. A mail to its address
 * proves that the person asks, so the address is taken off the suppression list. Without a mail,
 * anyone who knows the contact's id may have asked, so an erased address stays unsubscribed.
 */
async function maySubscribe(
  tx: Database,
  contact: PublicContact,
  ownMailId: string | null,
): Promise<boolean> {
  const { project_id: projectId, email } = contact;
  if (ownMailId === null) return !(await findErased(tx, projectId, [email])).has(email);
  await liftSuppression(tx, projectId, email);
  return true;
}

/** Stops marketing mail to the address of a message, whichever contact it is sent for. */
async function optOutReader(
  tx: Database,
  contact: PublicContact,
  { id: emailId, to_email: email }: LinkMail,
): Promise<TopicContact> {
  const entry = { email, emailId, reason: 'opt_out', scope: 'marketing' } as const;
  // The address is unknown after an erasure, which has made its own entry.
  if (email !== erasedAddress) await recordSuppressions(tx, contact.project_id, [entry]);
  return { ...contact, reader: email, subscribed: false, topics: [] };
}

/** Stores an opt-out in a message, and counts the contact once for the campaign of the message. */
async function recordOptOut(tx: Database, emailId: string): Promise<void> {
  await sql`
    with marked as (
      update email set unsubscribed_at = clock_timestamp()
        where id = ${emailId} and unsubscribed_at is null
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'marked' }, ['moments'])}
    update campaign set unsubscribed_count = unsubscribed_count + 1
      from marked where campaign.id = marked.campaign_id`.execute(tx);
}
