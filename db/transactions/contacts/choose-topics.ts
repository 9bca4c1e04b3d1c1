import { sql } from 'kysely';
import { actionOf, type ConsentOrigin, recordConsent } from '../../consent/log.ts';
import { leaveAskedTopics } from '../../consent/opt-ins.ts';
import type { Database } from '../../database.ts';
import { topicsOf } from '../../topics/choices.ts';
import { recordEvents } from '../events/record-events.ts';

/** true: subscribed, false: left, null: the default of the topic. */
export type TopicChoice = boolean | null;

export interface ChoiceCause {
  origin: ConsentOrigin;
  /** The message whose link was followed. */
  emailId?: string | null;
  /** True if the contact was just created, so no events are recorded. */
  isNew?: boolean;
}

/**
 * Stores the choices of a contact, which the caller has locked, with events and consent lines for
 * actual changes. Deleted topics are skipped. A topic that is left is also removed from an open
 * opt-in request.
 * @param choices by the ids of topics of the contact's project
 * @returns the keys of the topics that have actually changed
 */
export async function recordTopicChoices(
  tx: Database,
  contact: { id: string; project_id: string },
  choices: ReadonlyMap<string, TopicChoice>,
  { origin, emailId = null, isNew = false }: ChoiceCause,
): Promise<string[]> {
  if (choices.size === 0) return [];
  const { id: contactId, project_id: projectId } = contact;
  const given = JSON.stringify([...choices].map(([id, subscribed]) => ({ id, subscribed })));
  const { rows: changed } = await sql<{ key: string; subscribed: boolean }>`
    with given as (
      select topic.id, topic.key, topic.created_at, given.subscribed,
          coalesce(given.subscribed, topic.by_default) as after,
          coalesce(chosen.subscribed, topic.by_default) as before
        from jsonb_to_recordset(${given}::jsonb) as given(id uuid, subscribed boolean)
        join topic on topic.id = given.id and topic.project_id = ${projectId}
        left join contact_topic chosen
          on chosen.topic_id = topic.id and chosen.contact_id = ${contactId}
        -- Locks the topics, so that none is deleted before the transaction ends.
        for key share of topic
    ), removed as (
      delete from contact_topic using given
        where contact_id = ${contactId} and topic_id = given.id and given.subscribed is null
    ), stored as (
      insert into contact_topic (contact_id, topic_id, project_id, subscribed, changed_at)
        select ${contactId}, id, ${projectId}, subscribed, clock_timestamp()
          from given where subscribed is not null
        on conflict (contact_id, topic_id) do update
          set subscribed = excluded.subscribed, changed_at = excluded.changed_at
          where contact_topic.subscribed <> excluded.subscribed
    )
    select key, after as subscribed from given where after <> before
      order by created_at, id`.execute(tx);
  const { source } = origin;
  const left = [...choices].flatMap(([id, subscribed]) => (subscribed === false ? [id] : []));
  const asked = left.length > 0 && !isNew ? await leaveAskedTopics(tx, contactId, left) : [];
  const keys = changed.map(({ key }) => key);
  const unasked = asked.filter(({ key }) => !keys.includes(key));
  if (!isNew && changed.length > 0) {
    const events = changed.map(({ key, subscribed }) => ({
      contactId,
      emailId,
      name: subscribed ? 'contact.topic.subscribed' : 'contact.topic.unsubscribed',
      data: emailId ? { topic: key, source, emailId } : { topic: key, source },
      causedBy: origin.actor,
    }));
    await recordEvents(tx, projectId, events, { contactsLocked: true });
  }
  const lines = [...changed, ...unasked.map(({ key }) => ({ key, subscribed: false }))].map(
    ({ key, subscribed }) => ({ contactId, action: actionOf(subscribed, source), topic: key }),
  );
  await recordConsent(tx, projectId, lines, origin);
  return keys;
}

/**
 * Subscribes a locked contact to topics.
 * @param keepsLeft true: a topic that the contact itself has left stays left
 */
export async function joinTopics(
  tx: Database,
  contact: { id: string; project_id: string },
  topicIds: readonly string[],
  cause: ChoiceCause & { keepsLeft: boolean },
): Promise<void> {
  if (topicIds.length === 0) return;
  const topics = await topicsOf(tx, contact, sql`topic.id = any(${topicIds}::uuid[])`);
  const joined = topics.filter(
    ({ subscribed, explicit }) => !(cause.keepsLeft && explicit && !subscribed),
  );
  const choices = new Map(joined.map(({ id }) => [id, true]));
  await recordTopicChoices(tx, contact, choices, cause);
}
