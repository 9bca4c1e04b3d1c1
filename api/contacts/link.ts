import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  type LinkRequest,
  recordLinkChange,
} from '../../db/transactions/contacts/change-by-link.ts';
import type { TopicContact } from '../../db/reads/link-contact.ts';
import type { ContactTopic } from '../../db/topics/choices.ts';
import { isUuid } from '../../domain/ids.ts';
import { evidenceOfVisitor } from '../consent/evidence.ts';
import type { Call } from '../http/endpoint.ts';

/** Links in mail to subscribe and unsubscribe, and the changes that they make. */

export const LinkQuery = z.object({
  e: z.unknown().optional().meta({ type: 'string', description: 'Id of the email with the link' }),
  t: z.unknown().optional().meta({
    type: 'string',
    description: 'Key of the topic of that email; ignored when the project has no such topic',
  }),
});

export type LinkQuery = z.output<typeof LinkQuery>;

/** Returns the topic of a link; undefined: the link has no topic of the project. */
export function topicOfLink({ topics }: TopicContact, { t }: LinkQuery): ContactTopic | undefined {
  return topics.find(({ key }) => key === t);
}

/**
 * Returns the change that a link requests. A link with a topic changes the choice about this topic.
 * Any other link changes the subscription to all mail. Joining a topic also subscribes the contact.
 * @param text the text that the person was shown; null: unknown.
 */
export function requestOfLink(
  topic: ContactTopic | undefined,
  subscribed: boolean,
  text: string | null,
): LinkRequest {
  const isOptOut = !subscribed;
  if (!topic) return { subscribed, isOptOut, text };
  const choices = new Map([[topic.id, subscribed]]);
  return subscribed ? { subscribed, choices, isOptOut, text } : { choices, isOptOut, text };
}

type LinkCall = Pick<Call<'open', unknown, LinkQuery, unknown>, 'db' | 'request' | 'query'>;

/**
 * Makes the change that a link in mail requests. Returns undefined when there is no such contact.
 */
export async function changeByLink(
  { db, request, query }: LinkCall,
  change: {
    contactId: string;
    source: 'public_page' | 'one_click';
    /** True: the topics of the contact are read. Default: only if the link has a topic. */
    hasTopics?: boolean;
    /** Returns the requested change, for the current state of the contact. */
    requestOf: (before: TopicContact) => LinkRequest;
  },
): Promise<TopicContact | undefined> {
  const { contactId, source, hasTopics = topicKeyOf(query) !== null, requestOf } = change;
  const emailId = emailIdOf(query);
  const origin = { source, ...evidenceOfVisitor(request, null) };
  return transact(db, (tx) =>
    recordLinkChange(tx, { contactId, emailId, origin, hasTopics, requestOf }),
  );
}

/**
 * Returns the topic key in a link. The project may have no such topic. null: the link has no topic
 * key.
 */
export function topicKeyOf({ t }: LinkQuery): string | null {
  return typeof t === 'string' && t !== '' ? t : null;
}

/** Returns the id of the message that contains the link; null: the link has no valid id. */
export function emailIdOf({ e }: LinkQuery): string | null {
  return isUuid(e) ? e : null;
}
