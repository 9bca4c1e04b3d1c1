import { z } from 'zod';
import { findPublicContact, type PublicContact } from '../../db/contacts/subscriptions.ts';
import { maskEmail } from '../../domain/mail/email-address.ts';
import { isUuid } from '../../domain/ids.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { type OptOutTexts, optOutTexts } from '../../domain/mail/opt-out-texts.ts';
import { Attribution, changeSubscription } from '../contacts/public.ts';
import { type Answer, answer, type Call, endpoint } from '../http/endpoint.ts';
import { readForm } from '../http/form.ts';
import { type PageForm, showPage } from './page.ts';

/**
 * The pages of a mail's opt-out links. Opening one changes nothing: programs that scan mail follow
 * its links, too.
 */

const Params = z.object({ contactId: z.string() });
/** Common to all of them. */
const isPage = {
  tag: 'Opt-out',
  access: 'open',
  asSent: true,
  contentType: 'text/html',
  params: Params,
  query: Attribution,
  response: z.string(),
} as const;

/** For a link without a contact. */
const unknownAnswer = {
  otherAnswers: [
    { status: 404, description: 'The page of an unknown link', contentTypes: ['text/html'] },
  ],
} as const;

type PageCall = Call<'open', z.output<typeof Params>, z.output<typeof Attribution>, unknown>;

const unsubscribePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showUnsubscribePage',
  method: 'GET',
  path: '/unsubscribe/{contactId}',
  summary: 'Page that asks whether to unsubscribe; changes nothing',
  description:
    'In the language of the contact. An unknown link is answered by a page, too, with 404.',
  handle: (call) =>
    withContact(call, (contact, texts) => {
      const { title, ask, button } = texts.unsubscribe;
      const form = { action: actionOf(call, 'unsubscribe'), button };
      return contactPage(texts, contact, { title, text: ask, form });
    }),
});

const subscribePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showSubscribePage',
  method: 'GET',
  path: '/subscribe/{contactId}',
  summary: 'Page that asks whether to subscribe; changes nothing',
  description:
    'In the language of the contact. An unknown link is answered by a page, too, with 404.',
  handle: (call) =>
    withContact(call, (contact, texts) => {
      const { title, ask, button } = texts.subscribe;
      const form = { action: actionOf(call, 'subscribe'), button };
      return contactPage(texts, contact, { title, text: ask, form });
    }),
});

const managePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showManagePage',
  method: 'GET',
  path: '/manage/{contactId}',
  summary: 'Page that shows a subscription and offers to change it; changes nothing',
  description:
    'In the language of the contact. An unknown link is answered by a page, too, with 404.',
  handle: (call) =>
    withContact(call, (contact, texts) => {
      const { title, subscribed, unsubscribed } = texts.manage;
      const next = contact.subscribed ? 'unsubscribe' : 'subscribe';
      const form = { action: actionOf(call, next), button: texts[next].button };
      const text = contact.subscribed ? subscribed : unsubscribed;
      return contactPage(texts, contact, { title, text, form });
    }),
});

const unsubscribe = endpoint({
  ...isPage,
  id: 'unsubscribeByLink',
  method: 'POST',
  path: '/unsubscribe/{contactId}',
  summary: 'Unsubscribe: one click in a mail program (RFC 8058), or the form of the page',
  description:
    'One click, the body `List-Unsubscribe=One-Click` as a form, is answered with a line of ' +
    'text; anything else with a page. An unknown contact is answered 200, too, as mail ' +
    'programs repeat what is not. Not limited in rate.',
  limit: 'none',
  otherAnswers: [
    { status: 200, description: 'to one click, a line of text', contentTypes: ['text/plain'] },
  ],
  async handle(call) {
    const isOneClick = await isOneClickForm(call);
    // Mail providers repeat requests that are not answered 200, and blame the sender.
    const contact = await changed(call, false, isOneClick ? 'one_click' : 'public_page');
    if (isOneClick) return answer('You are unsubscribed.\n', plainText);
    const texts = textsFor(call, contact);
    const { done, doneText } = texts.unsubscribe;
    if (!contact) {
      return showPage({ language: texts.language, title: done, text: null, form: null });
    }
    return contactPage(texts, contact, { title: done, text: doneText, form: null });
  },
});

const subscribe = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'subscribeByLink',
  method: 'POST',
  path: '/subscribe/{contactId}',
  summary: 'Subscribe by the form of the page',
  description:
    'Answers a page in the language of the contact. An unknown link is answered by a page, ' +
    'too, with 404.',
  async handle(call) {
    const contact = await changed(call, true, 'public_page');
    if (!contact) return unknownPage(call);
    const texts = textsFor(call, contact);
    const { done, doneText } = texts.subscribe;
    return contactPage(texts, contact, { title: done, text: doneText, form: null });
  },
});

export const optOutPages = [unsubscribePage, subscribePage, managePage, unsubscribe, subscribe];

/** Whether a body is the form of RFC 8058, in either encoding. */
async function isOneClickForm({ request }: PageCall): Promise<boolean> {
  const fields = await readForm(request.bytes, request.header('content-type')).catch(() => []);
  return fields.some(
    ([name, value]) =>
      name.toLowerCase() === 'list-unsubscribe' &&
      typeof value === 'string' &&
      value.trim().toLowerCase() === 'one-click',
  );
}

const plainText = {
  contentType: 'text/plain',
  headers: { 'Cache-Control': 'no-store' },
};

function changed(
  call: PageCall,
  subscribed: boolean,
  source: 'public_page' | 'one_click',
): Promise<PublicContact | undefined> {
  const { contactId } = call.params;
  if (!isUuid(contactId)) return Promise.resolve(undefined);
  const change = { contactId, subscribed, e: call.query.e, source };
  // One click is not made on a page.
  if (source === 'one_click') return changeSubscription(call, change);
  return changeSubscription(call, {
    ...change,
    textOf: (contact) => questionOf(contact, subscribed),
  });
}

/** The question of the page about a change, as its reader sees it. */
function questionOf(contact: PublicContact, subscribed: boolean): string {
  const texts = optOutTexts(localeOf(contact.data, contact.project_language));
  const { title, ask } = subscribed ? texts.subscribe : texts.unsubscribe;
  return `${title}\n${filledFor(contact, ask)}`;
}

async function withContact(
  call: PageCall,
  show: (contact: PublicContact, texts: OptOutTexts) => Answer<string>,
): Promise<Answer<string>> {
  const { contactId } = call.params;
  const contact = isUuid(contactId) ? await findPublicContact(call.db, contactId) : undefined;
  return contact ? show(contact, textsFor(call, contact)) : unknownPage(call);
}

function contactPage(
  { language }: OptOutTexts,
  contact: PublicContact,
  { title, text, form }: { title: string; text: string; form: PageForm | null },
): Answer<string> {
  return showPage({ language, title, text: filledFor(contact, text), form });
}

function filledFor(contact: PublicContact, text: string): string {
  const values = { address: maskEmail(contact.email), project: contact.project_name };
  return text.replaceAll(/\{(address|project)\}/g, (_, name: keyof typeof values) => values[name]);
}

function unknownPage(call: PageCall): Answer<string> {
  const { language, unknown } = textsFor(call, undefined);
  return showPage({ language, ...unknown, form: null }, 404);
}

/** In the contact's language; without a contact, in one that the browser accepts. */
function textsFor({ request }: PageCall, contact: PublicContact | undefined): OptOutTexts {
  return contact
    ? optOutTexts(localeOf(contact.data, contact.project_language))
    : optOutTexts(...request.header('accept-language').split(','));
}

/** The target of a form on the page, without the host: the page may be reached by another one. */
function actionOf({ config, params, query }: PageCall, page: 'subscribe' | 'unsubscribe'): string {
  const base = new URL(config.apiUrl).pathname.replace(/\/$/, '');
  const attribution = isUuid(query.e) ? `?e=${query.e}` : '';
  return `${base}/${page}/${params.contactId}${attribution}`;
}
