import { findPublicContact, type PublicContact } from '../contacts/public-contact.ts';
import type { Database } from '../database.ts';
import { findSuppression } from '../suppression/list.ts';
import { type ContactTopic, listContactTopics } from '../topics/choices.ts';

/**
 * Returns the contact of a link for the linked page; undefined when there is none.
 * @param link.emailId the message with the link: the page is for the address to which it was sent;
 * null: the page is for the contact's own address
 * @param link.hasTopics true if the topics of the contact are needed
 */
export async function findLinkContact(
  db: Database,
  link: { contactId: string; emailId: string | null; hasTopics: boolean },
): Promise<TopicContact | undefined> {
  const contact = await findPublicContact(db, link.contactId);
  if (!contact) return undefined;
  const mail = await findMail(db, contact, link.emailId);
  if (mail && !mail.isOwn) {
    const { to_email: reader } = mail;
    const entry = await findSuppression(db, contact.project_id, reader);
    return { ...contact, reader, subscribed: entry === undefined, topics: [] };
  }
  return { ...contact, topics: link.hasTopics ? await listContactTopics(db, contact) : [] };
}

/** A contact with the topics of its project, oldest first; empty if they were not requested. */
export interface TopicContact extends PublicContact {
  topics: ContactTopic[];
}

/** A message that belongs to a contact. */
export interface LinkMail {
  id: string;
  to_email: string;
  /**
   * True if the message was sent to the contact's current address, not to a former one or another
   * recipient of the step.
   */
  isOwn: boolean;
}

export async function findMail(
  db: Database,
  { id: contactId, email }: PublicContact,
  emailId: string | null,
): Promise<LinkMail | undefined> {
  if (emailId === null) return undefined;
  const row = await db
    .selectFrom('email')
    .select(['id', 'to_email'])
    .where('id', '=', emailId)
    .where('contact_id', '=', contactId)
    .executeTakeFirst();
  return row && { ...row, isOwn: row.to_email === email };
}
