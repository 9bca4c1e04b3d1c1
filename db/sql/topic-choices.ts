import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that is true if a contact does not get mail of a topic: by its own choice, or else by the
 * default. False if the topic is null or deleted.
 * @param contactId the contact's id, as SQL
 * @param topicId the topic's id or null, as SQL
 */
export function hasLeftTopic(
  contactId: RawBuilder<unknown>,
  topicId: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`case when ${topicId} is null then false else coalesce((
    select not coalesce((select inner_choice.subscribed from contact_topic inner_choice
        where inner_choice.contact_id = ${contactId} and inner_choice.topic_id = inner_topic.id),
        inner_topic.by_default)
      from topic inner_topic where inner_topic.id = ${topicId}), false) end`;
}

/**
 * SQL that is true if a contact was not subscribed to a topic at a moment: the first change after
 * the moment shows the state before the change. False if the topic is null.
 */
export function hadLeftTopic(
  contactId: RawBuilder<unknown>,
  topicId: RawBuilder<unknown>,
  at: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`case when ${topicId} is null then false else coalesce((
    select inner_change.name = 'contact.topic.subscribed' from event inner_change
      where inner_change.contact_id = ${contactId} and inner_change.recorded_at > ${at}
        and inner_change.name in ('contact.topic.subscribed', 'contact.topic.unsubscribed')
        and inner_change.data ->> 'topic' = (select inner_changed.key from topic inner_changed
          where inner_changed.id = ${topicId})
      order by inner_change.recorded_at limit 1), ${hasLeftTopic(contactId, topicId)}) end`;
}
