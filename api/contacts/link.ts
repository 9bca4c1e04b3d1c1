import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { type LinkWish, recordLinkChange } from '../../db/transactions/contacts/change-by-link.ts';
import type { TopicContact } from '../../db/reads/link-contact.ts';
import type { ContactTopic } from '../../db/topics/choices.ts';
import { isUuid } from '../../domain/ids.ts';
import { evidenceOfVisitor } from '../consent/evidence.ts';
import type { Call } from '../http/endpoint.ts';

/** The links of a mail, and the changes that following them makes. */

export const LinkQuery = z.object({
  e: z
    .unknown()
    .optional()
    .meta({ type: 'string', description: 'Id of the email that held the link' }),
  t: z.unknown().optional().meta({
    type: 'string',
    description: 'Key of the topic of that email; ignored when the project has no such topic',
  }),
});

export type LinkQuery = z.output<typeof LinkQuery>;

/** The topic that a link names; undefined: it names none of the project's. */
export function topicOfLink({ topics }: TopicContact, { t }: LinkQuery): ContactTopic | undefined {
  return topics.find(({ key }) => key === t);
}

/**
 * Returns the request of a link: about its topic, else about all mail. A contact who joins a topic
 * wants mail, too.
 * @param text the text that the person has read; null: it is not known.
 */
export function wishOfLink(
  topic: ContactTopic | undefined,
  subscribed: boolean,
  text: string | null,
): LinkWish {
  const isOptOut = !subscribed;
  if (!topic) return { subscribed, isOptOut, text };
  const choices = new Map([[topic.id, subscribed]]);
  return subscribed ? { subscribed, choices, isOptOut, text } : { choices, isOptOut, text };
}

type LinkCall = Pick<Call<'open', unknown, LinkQuery, unknown>, 'db' | 'request' | 'query'>;

/** Changes what a contact gets by a mail's link. Undefined: there is no such contact. */
export async function changeByLink(
  { db, request, query }: LinkCall,
  change: {
    contactId: string;
    source: 'public_page' | 'one_click';
    /** Topics are asked for, even if the link names none. */
    hasTopics?: boolean;
    /** Returns the requested change, from the contact as it was before. */
    wishOf: (before: TopicContact) => LinkWish;
  },
): Promise<TopicContact | undefined> {
  const { contactId, source, hasTopics = topicKeyOf(query) !== null, wishOf } = change;
  const emailId = emailIdOf(query);
  const origin = { source, ...evidenceOfVisitor(request, null) };
  return transact(db, (tx) =>
    recordLinkChange(tx, { contactId, emailId, origin, hasTopics, wishOf }),
  );
}

/** The topic's key in a link, which may be none of the project's; null: there is none. */
export function topicKeyOf({ t }: LinkQuery): string | null {
  return typeof t === 'string' && t !== '' ? t : null;
}

/** The id of the message that held a link; null: it names none. */
export function emailIdOf({ e }: LinkQuery): string | null {
  return isUuid(e) ? e : null;
}
