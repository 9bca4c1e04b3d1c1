import type { LinkRequest } from '../../db/transactions/contacts/change-by-link.ts';
import type { TopicContact } from '../../db/reads/link-contact.ts';
import { isUuid } from '../../domain/ids.ts';
import type { OptOutTexts } from '../../domain/mail/opt-out-texts.ts';
import { changeByLink, topicOfLink, requestOfLink } from '../contacts/link.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import type { FormFields } from '../http/bodies/form.ts';
import { showPage } from './page.ts';
import {
  actionOf,
  contactPage,
  filledFor,
  formOf,
  isPage,
  type PageCall,
  textsFor,
  unknownAnswer,
  unknownPage,
  withContact,
} from './visit.ts';

/**
 * The pages for links in mail to subscribe and unsubscribe, for the topic of the mail or for all
 * mail. Opening a page changes nothing, because programs that scan mail also open links.
 */

const unsubscribePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showUnsubscribePage',
  method: 'GET',
  path: '/unsubscribe/{contactId}',
  summary: 'Page that asks whether to unsubscribe; changes nothing',
  description:
    'In the language of the contact. With `t` it asks whether to leave this topic, or all. ' +
    'An unknown link gets a page with status 404.',
  handle: (call) =>
    withContact(
      call,
      (contact, texts) => {
        const topic = topicOfLink(contact, call.query);
        const { title, ask, button } = texts.unsubscribe;
        const action = actionOf(call, 'unsubscribe', { topic: topic !== undefined });
        const all = { label: texts.topics.all, name: 'all', value: '1' };
        const buttons = topic ? [{ label: button }, all] : [{ label: button }];
        const text = topic ? texts.topics.leave : ask;
        return contactPage(texts, contact, { title, text, topic, form: { action, buttons } });
      },
      { isForReader: true },
    ),
});

const subscribePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showSubscribePage',
  method: 'GET',
  path: '/subscribe/{contactId}',
  summary: 'Page that asks whether to subscribe; changes nothing',
  description:
    'In the language of the contact. With `t` it asks whether to join this topic. An unknown ' +
    'link gets a page with status 404.',
  handle: (call) =>
    withContact(
      call,
      (contact, texts) => {
        const topic = topicOfLink(contact, call.query);
        const { title, ask, button } = texts.subscribe;
        const action = actionOf(call, 'subscribe', { topic: topic !== undefined });
        const text = topic ? texts.topics.join : ask;
        const form = { action, buttons: [{ label: button }] };
        return contactPage(texts, contact, { title, text, topic, form });
      },
      { isForReader: false },
    ),
});

const unsubscribe = endpoint({
  ...isPage,
  id: 'unsubscribeByLink',
  method: 'POST',
  path: '/unsubscribe/{contactId}',
  summary: 'Unsubscribe: one click in a mail program (RFC 8058), or the form of the page',
  description:
    'One click (the form body `List-Unsubscribe=One-Click`) returns a line of text; anything ' +
    'else a page. With `t` the contact leaves only this topic, unless the form has `all=1`. ' +
    "If the mail was sent to another address than the contact's current one, that address is " +
    'added to the suppression list, and the contact does not change. An unknown contact also ' +
    'gets status 200, because mail programs would repeat the request. No rate limit.',
  limit: 'none',
  otherAnswers: [
    { status: 200, description: 'for one click, a line of text', contentTypes: ['text/plain'] },
  ],
  async handle(call) {
    const fields = await formOf(call);
    const isOneClick = isOneClickForm(fields);
    const isOfAll = !isOneClick && fields.some(([name, value]) => name === 'all' && value === '1');
    // An unknown contact also gets status 200, because mail providers would repeat the request
    // after an error.
    const contact = await changed(
      call,
      isOneClick ? 'one_click' : 'public_page',
      (before, texts) => {
        const asked = topicOfLink(before, call.query);
        const { title, ask } = texts.unsubscribe;
        const read = asked ? texts.topics.leave : ask;
        // A one-click opt-out shows no page, so the person has read no text.
        const text = isOneClick ? null : `${title}\n${filledFor(before, read, asked)}`;
        return requestOfLink(isOfAll ? undefined : asked, false, text);
      },
    );
    if (isOneClick) return answer('You are unsubscribed.\n', plainText);
    const texts = textsFor(call, contact);
    const { done, doneText } = texts.unsubscribe;
    if (!contact) {
      return showPage({ language: texts.language, title: done, text: null, form: null });
    }
    const topic = isOfAll ? undefined : topicOfLink(contact, call.query);
    const text = topic ? texts.topics.left : doneText;
    return contactPage(texts, contact, { title: done, text, topic, form: null });
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
    'Returns a page in the language of the contact. With `t` the contact also joins this ' +
    'topic. An unknown link gets a page with status 404.',
  async handle(call) {
    const contact = await changed(call, 'public_page', (before, texts) => {
      const topic = topicOfLink(before, call.query);
      const { title, ask } = texts.subscribe;
      const read = filledFor(before, topic ? texts.topics.join : ask, topic);
      return requestOfLink(topic, true, `${title}\n${read}`);
    });
    if (!contact) return unknownPage(call);
    const texts = textsFor(call, contact);
    const { done, doneText } = texts.subscribe;
    const topic = topicOfLink(contact, call.query);
    // If the contact still gets no mail, its state is shown. The contact must confirm first, or its
    // address is erased.
    if (!contact.subscribed || topic?.subscribed === false) {
      const { title, subscribed, unsubscribed } = texts.manage;
      const state = contact.subscribed ? subscribed : unsubscribed;
      return contactPage(texts, contact, { title, text: state, form: null });
    }
    const text = topic ? texts.topics.joined : doneText;
    return contactPage(texts, contact, { title: done, text, topic, form: null });
  },
});

export const optOutPages = [unsubscribePage, subscribePage, unsubscribe, subscribe];

/** Returns true for a one-click unsubscribe form (RFC 8058). */
function isOneClickForm(fields: FormFields): boolean {
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

async function changed(
  call: PageCall,
  source: 'public_page' | 'one_click',
  requestOf: (before: TopicContact, texts: OptOutTexts) => LinkRequest,
): Promise<TopicContact | undefined> {
  const { contactId } = call.params;
  if (!isUuid(contactId)) return undefined;
  return changeByLink(call, {
    contactId,
    source,
    requestOf: (before) => requestOf(before, textsFor(call, before)),
  });
}
