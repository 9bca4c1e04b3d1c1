import { type Selectable, sql } from 'kysely';
import { isLately, mayMail, type OptInCounts } from '../../domain/consent/opt-in.ts';
import { actorOfEvent } from '../../domain/access/actor.ts';
import { Problem } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { enqueueAll } from '../outbox/outbox.ts';
import type { OptIn } from '../tables.ts';
import { hasLeftTopic } from '../sql/topic-choices.ts';
import {
  type ConsentOrigin,
  type ConsentSource,
  type Evidence,
  recordConsent,
  recordConsentOfProjects,
} from './log.ts';

/**
 * Opt-in requests: a contact asks for mail, and the owner of the address must confirm. A contact
 * has at most one open request. Callers that write must have locked the contact.
 */

export type OptInRow = Selectable<OptIn>;

/** A contact that asks for mail. The caller has locked the contact. */
export interface AskingContact {
  id: string;
  project_id: string;
  email: string;
  subscribed: boolean;
  consent: string | null;
}

/**
 * Number of ended requests that are kept per contact, because their links still get a response, and
 * their mails are counted.
 */
const endedMax = 10;

const summary = 'Opt-in request';

interface AskedTopic {
  id: string;
  key: string;
}

/**
 * Asks the owner of the contact's address to confirm that mail is wanted: all mail, if the contact
 * is unsubscribed, and mail of those given topics that the contact does not get. An open request is
 * extended. Nothing happens if the contact gets all of this mail already, or if the same was
 * requested within the last hour and no further confirmation mail may be sent yet.
 * @throws Problem CONSENT_SENDER_REQUIRED
 */
export async function requestOptIn(
  tx: Database,
  contact: AskingContact,
  { topicIds, origin }: { topicIds: readonly string[]; origin: ConsentOrigin },
): Promise<void> {
  const { id: contactId, project_id: projectId } = contact;
  const { now, hasSender, remindAfter, expireAfter } = await findTerms(tx, projectId);
  if (!hasSender) throw new Problem('CONSENT_SENDER_REQUIRED');
  const topics = await askedTopics(tx, contact, topicIds);
  const isOfMail = !contact.subscribed;
  if (!isOfMail && topics.length === 0) return;
  const open = contact.consent === 'pending' ? await findOpen(tx, contactId) : undefined;
  const added = topics.filter(({ id }) => !open?.topic_ids.includes(id));
  const addsMail = isOfMail && !open?.of_mail;
  const counts = open ?? (await countsOf(tx, contact));
  const isMailed = mayMail(counts, now);
  const isNews = !open || addsMail || added.length > 0;
  if (!isNews && !isMailed && isLately(open.asked_at, now)) return;
  // If a repeated request adds topics but causes no mail, only the added ones are logged.
  const isWhole = !open || isMailed || !isNews;
  const line = { contactId, action: 'requested' as const };
  const lines = [
    ...((isWhole ? isOfMail : addsMail) ? [{ ...line, topic: null }] : []),
    ...(isWhole ? topics : added).map(({ key }) => ({ ...line, topic: key })),
  ];
  await recordConsent(tx, projectId, lines, origin);
  const counted = {
    mails: counts.mails + (isMailed ? 1 : 0),
    counted_at: isMailed ? now : counts.counted_at,
    ...(isMailed && { asked_by: askedBy(contactId, origin) }),
  };
  if (open) {
    await tx
      .updateTable('opt_in')
      .set({
        ...counted,
        of_mail: open.of_mail || isOfMail,
        topic_ids: [...open.topic_ids, ...added.map(({ id }) => id)],
        mail_wanted: open.mail_wanted || isMailed,
        asked_at: now,
        next_reconcile_at: sql<Date>`clock_timestamp() + interval '1 minute'`,
      })
      .where('id', '=', open.id)
      .execute();
    if (isMailed) await signalRuns(tx, [open]);
    return;
  }
  await forgetEnded(tx, contactId);
  const made = await tx
    .insertInto('opt_in')
    .values({
      ...counted,
      project_id: projectId,
      contact_id: contactId,
      email: contact.email,
      of_mail: isOfMail,
      topic_ids: topics.map(({ id }) => id),
      mail_wanted: isMailed,
      remind_after: remindAfter,
      expire_after: expireAfter,
    })
    .returning(['id', 'project_id'])
    .executeTakeFirstOrThrow();
  await noteState(tx, [contactId], 'pending');
  await signalRuns(tx, [made]);
}

/** Returns the actor of a request: the caller, or without a caller the contact itself. */
function askedBy(contactId: string, { actor, source }: ConsentOrigin): string {
  return actor ?? actorOfEvent({ name: 'contact.subscribed', contactId, data: { source } });
}

/** Returns the terms that a project's policy sets for new requests. */
async function findTerms(
  tx: Database,
  projectId: string,
): Promise<{ now: Date; hasSender: boolean; remindAfter: number | null; expireAfter: number }> {
  const { rows } = await sql<Awaited<ReturnType<typeof findTerms>>>`
    select clock_timestamp()::timestamptz(3) as now,
        coalesce(template.from_email, opt_in_from_email) is not null as "hasSender",
        opt_in_remind_after as "remindAfter", opt_in_expire_after as "expireAfter"
      from project
      left join template on template.id = opt_in_template_id and template.project_id = project.id
      where project.id = ${projectId}`.execute(tx);
  const [terms] = rows;
  if (!terms) throw new Problem('PROJECT_NOT_FOUND');
  return terms;
}

/**
 * Returns those of the topics that exist, oldest first. For a subscribed contact, topics that it
 * already gets are left out.
 */
async function askedTopics(
  tx: Database,
  { id, project_id: projectId, subscribed }: AskingContact,
  topicIds: readonly string[],
): Promise<AskedTopic[]> {
  if (topicIds.length === 0) return [];
  const { rows } = await sql<AskedTopic>`
    select id, key from topic
      where project_id = ${projectId} and id = ${anyOf(topicIds)}
        and (not ${subscribed} or ${hasLeftTopic(sql`${id}::uuid`, sql`topic.id`)})
      order by created_at, id`.execute(tx);
  return rows;
}

async function findOpen(tx: Database, contactId: string) {
  return tx
    .selectFrom('opt_in')
    .select(['id', 'project_id', 'of_mail', 'topic_ids', 'mail_wanted', 'asked_at'])
    .select(['mails', 'counted_at'])
    .where('contact_id', '=', contactId)
    .where('state', '=', sql.lit('pending'))
    .executeTakeFirst();
}

/**
 * Returns the number of mails sent to the contact's address since its last confirmation, as stored
 * in the newest request of this address.
 */
async function countsOf(
  tx: Database,
  { project_id: projectId, email }: AskingContact,
): Promise<OptInCounts> {
  const last = await tx
    .selectFrom('opt_in')
    .select(['state', 'mails', 'counted_at'])
    .where('project_id', '=', projectId)
    .where('email', '=', email)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!last) return { mails: 0, counted_at: null };
  return last.state === 'confirmed' ? { ...last, mails: 0 } : last;
}

async function forgetEnded(tx: Database, contactId: string): Promise<void> {
  await sql`
    delete from opt_in where id in (select id from opt_in
      where contact_id = ${contactId} and state <> 'pending'
      order by created_at desc offset ${endedMax - 1})`.execute(tx);
}

/**
 * Stores the state of the newest opt-in request on the contacts; null: there is no request.
 * `updated_at` does not change.
 */
export async function noteState(
  tx: Database,
  contactIds: readonly string[],
  state: 'pending' | 'confirmed' | 'expired' | null,
): Promise<void> {
  await tx
    .updateTable('contact')
    .set({ consent: state })
    .where('id', '=', anyOf(contactIds))
    .execute();
}

/**
 * Signals the runs of opt-in requests whose rows have changed, and starts missing runs. Each
 * request may be in the list only once.
 */
export async function signalRuns(
  tx: Database,
  requests: readonly Pick<OptInRow, 'id' | 'project_id'>[],
): Promise<void> {
  const inputs = requests.map(({ id: requestId, project_id: projectId }) => ({
    projectId,
    requestId,
  }));
  await enqueueAll(tx, { kind: 'optInRequest', inputs, summary });
}

/**
 * Signals the runs of the open requests of contacts that are about to be deleted together with
 * these requests.
 */
export async function signalRunsOf(tx: Database, contactIds: readonly string[]): Promise<void> {
  const open = await tx
    .selectFrom('opt_in')
    .select(['id', 'project_id'])
    .where('contact_id', '=', anyOf(contactIds))
    .where('state', '=', sql.lit('pending'))
    .execute();
  await signalRuns(tx, open);
}

/** A contact whose open request ends without a confirmation. */
export interface EndedBefore {
  contactId: string;
  projectId: string;
  source: ConsentSource;
  /** True if the consent log already has the entry that the contact gets no more mail. */
  isLogged: boolean;
}

/**
 * Ends the open requests of contacts that have decided against mail, so that the links stop
 * working. The caller has locked the contacts, and limits their number. Contacts without an open
 * request do not change.
 */
export async function endOptIns(
  tx: Database,
  contacts: readonly EndedBefore[],
  evidence: Evidence,
): Promise<void> {
  if (contacts.length === 0) return;
  const by = new Map(contacts.map((contact) => [contact.contactId, contact]));
  const ended = await closeOptIns(tx, [...by.keys()], 'expired');
  const lines = ended.flatMap(({ contactId, isOfMail, topicKeys }) => {
    const { isLogged, source, projectId } = by.get(contactId)!;
    const line = { contactId, projectId, source, action: 'withdrawn' as const };
    return [
      ...(isOfMail && !isLogged ? [{ ...line, topic: null }] : []),
      ...topicKeys.map((topic) => ({ ...line, topic })),
    ];
  });
  await recordConsentOfProjects(tx, lines, evidence);
}

/** The mail and topics for which a request asks. */
export interface AskedFor {
  contactId: string;
  isOfMail: boolean;
  /** Keys of the requested topics that still exist, oldest first. */
  topicKeys: string[];
}

/**
 * Closes the open requests of contacts, and signals the runs of these requests, which then end.
 * Returns the closed requests.
 */
export async function closeOptIns(
  tx: Database,
  contactIds: readonly string[],
  state: 'confirmed' | 'expired',
): Promise<AskedFor[]> {
  const { rows } = await sql<AskedFor & { id: string; project_id: string }>`
    update opt_in set state = ${state}, mail_wanted = false, ended_at = clock_timestamp()
      where contact_id = ${anyOf(contactIds)} and state = 'pending'
      returning id, project_id, contact_id as "contactId", of_mail as "isOfMail",
        array(select key from topic where topic.id = any(opt_in.topic_ids)
          order by topic.created_at, topic.id) as "topicKeys"`.execute(tx);
  if (rows.length === 0) return [];
  const ids = rows.map(({ contactId }) => contactId);
  await noteState(tx, ids, state);
  await signalRuns(tx, rows);
  return rows;
}

/**
 * Removes topics from the open request of a contact that has left these topics. If the request then
 * asks for nothing, it ends. Returns the removed topics.
 */
export async function leaveAskedTopics(
  tx: Database,
  contactId: string,
  topicIds: readonly string[],
): Promise<AskedTopic[]> {
  const left = anyOf(topicIds);
  const { rows } = await sql<{ of_mail: boolean; isEmpty: boolean; topics: AskedTopic[] }>`
    with before as (
      select id, topic_ids from opt_in
        where contact_id = ${contactId} and state = 'pending' and topic_ids && ${topicIds}::uuid[]
    )
    update opt_in set topic_ids = array(select asked from unnest(opt_in.topic_ids) as asked
        where not asked = ${left})
      from before where opt_in.id = before.id
      returning of_mail, opt_in.topic_ids = '{}' as "isEmpty",
        (select coalesce(jsonb_agg(jsonb_build_object('id', topic.id, 'key', topic.key)
            order by topic.created_at, topic.id), '[]')
          from topic where topic.id = any(before.topic_ids) and topic.id = ${left}) as topics
    `.execute(tx);
  const [row] = rows;
  if (!row) return [];
  if (!row.of_mail && row.isEmpty) await closeOptIns(tx, [contactId], 'expired');
  return row.topics;
}
