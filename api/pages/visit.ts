import { z } from 'zod';
import { findLinkContact, type TopicContact } from '../../db/reads/link-contact.ts';
import type { PublicContact } from '../../db/contacts/public-contact.ts';
import type { ContactTopic } from '../../db/topics/choices.ts';
import { maskEmail } from '../../domain/email-address.ts';
import { isUuid } from '../../domain/ids.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { type OptOutTexts, optOutTexts } from '../../domain/mail/opt-out-texts.ts';
import { emailIdOf, LinkQuery, topicKeyOf } from '../contacts/link.ts';
import type { Answer, Call } from '../http/endpoint.ts';
import { type FormFields, readForm } from '../http/bodies/form.ts';
import { type PageContent, showPage } from './page.ts';

/** Common parts of the pages for links in mail. */

const Params = z.object({ contactId: z.string() });

/** Options of every endpoint of these pages. */
export const isPage = {
  access: 'open',
  asSent: true,
  contentType: 'text/html',
  params: Params,
  query: LinkQuery,
  response: z.string(),
} as const;

/** The response to a link whose contact does not exist. */
export const unknownAnswer = {
  otherAnswers: [
    { status: 404, description: 'The page of an unknown link', contentTypes: ['text/html'] },
  ],
} as const;

export type PageCall = Call<'open', z.output<typeof Params>, LinkQuery, unknown>;

/**
 * Shows a page for the contact of a link. If the contact is unknown, the page says so.
 * @param options.hasTopics true: the page shows topics, even if the link has no topic.
 * @param options.isForReader true: the page is about the address to which the mail with the link
 * was sent.
 */
export async function withContact(
  call: PageCall,
  show: (contact: TopicContact, texts: OptOutTexts) => Answer<string>,
  {
    hasTopics = topicKeyOf(call.query) !== null,
    isForReader,
  }: { hasTopics?: boolean; isForReader: boolean },
): Promise<Answer<string>> {
  const { contactId } = call.params;
  if (!isUuid(contactId)) return unknownPage(call);
  const emailId = isForReader ? emailIdOf(call.query) : null;
  const contact = await findLinkContact(call.db, { contactId, emailId, hasTopics });
  return contact ? show(contact, textsFor(call, contact)) : unknownPage(call);
}

/**
 * Renders a page for a contact.
 * @param content.topic the topic in the text, if any.
 */
export function contactPage(
  { language }: OptOutTexts,
  contact: PublicContact,
  {
    topic,
    text,
    ...content
  }: Omit<PageContent, 'language'> & {
    text: string;
    topic?: ContactTopic | undefined;
  },
): Answer<string> {
  return showPage({ ...content, language, text: filledFor(contact, text, topic) });
}

/**
 * Fills a text with the masked address of the reader, and the names of the project and the topic.
 */
export function filledFor(
  contact: Pick<PublicContact, 'email' | 'reader' | 'project_name'>,
  text: string,
  topic?: ContactTopic,
): string {
  const values = {
    address: maskEmail(contact.reader ?? contact.email),
    project: contact.project_name,
    topic: topic?.name ?? '',
  };
  return text.replaceAll(
    /\{(address|project|topic)\}/g,
    (_, name: keyof typeof values) => values[name],
  );
}

export function unknownPage(call: Pick<PageCall, 'request'>): Answer<string> {
  const { language, unknown } = textsFor(call, undefined);
  return showPage({ language, ...unknown, form: null }, 404);
}

/**
 * Returns the texts in the contact's language; without a contact, in a language that the browser
 * accepts.
 */
export function textsFor(
  { request }: Pick<PageCall, 'request'>,
  contact: Pick<PublicContact, 'data' | 'project_language'> | undefined,
): OptOutTexts {
  return contact
    ? optOutTexts(localeOf(contact.data, contact.project_language))
    : optOutTexts(...request.header('accept-language').split(','));
}

/**
 * Returns the target of a form on the page. The target has no host, because the page may have been
 * opened under another host than the host of `API_URL`.
 * @param topic true if the form is about the topic of the link.
 */
export function actionOf(
  { config, params, query }: PageCall,
  page: 'subscribe' | 'unsubscribe' | 'manage',
  { topic }: { topic: boolean },
): string {
  const carried = new URLSearchParams();
  const emailId = emailIdOf(query);
  if (emailId !== null) carried.set('e', emailId);
  const key = topicKeyOf(query);
  if (topic && key !== null) carried.set('t', key);
  const link = carried.size > 0 ? `?${carried.toString()}` : '';
  return `${pathOf(config)}/${page}/${params.contactId}${link}`;
}

/** Returns the path of `API_URL` without a slash at the end. The pages are below this path. */
export function pathOf({ apiUrl }: PageCall['config']): string {
  return new URL(apiUrl).pathname.replace(/\/$/, '');
}

/** Reads the fields of a form, urlencoded or multipart. A malformed form has no fields. */
export function formOf({ request }: PageCall): Promise<FormFields> {
  return readForm(request.bytes, request.header('content-type')).catch(() => []);
}
