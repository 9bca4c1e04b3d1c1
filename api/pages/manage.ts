import type { LinkRequest } from '../../db/transactions/contacts/change-by-link.ts';
import type { TopicContact } from '../../db/reads/link-contact.ts';
import { isUuid } from '../../domain/ids.ts';
import type { OptOutTexts } from '../../domain/mail/opt-out-texts.ts';
import { changeByLink } from '../contacts/link.ts';
import { type Answer, endpoint } from '../http/endpoint.ts';
import type { FormFields } from '../http/bodies/form.ts';
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
 * The preference page: a check box for each public topic of the project. Without public topics, the
 * page has one button.
 */

const managePage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'showManagePage',
  method: 'GET',
  path: '/manage/{contactId}',
  summary: 'Page that shows a subscription and offers to change it; changes nothing',
  description:
    'In the language of the contact. It has a box for each public topic, ticked if the ' +
    'contact gets its mail; without public topics, one button. An unknown link gets a page ' +
    'with status 404.',
  handle: showPreferences,
});

const manage = endpoint({
  ...isPage,
  ...unknownAnswer,
  id: 'manageByLink',
  method: 'POST',
  path: '/manage/{contactId}',
  summary: 'Choose topics, or unsubscribe from all, by the form of the page',
  description:
    '`action=save`: `shown` has the keys of all boxes, `topic` those of the ticked ones; ' +
    'each topic is set accordingly, and a ticked box also subscribes the contact. ' +
    '`action=unsubscribe_all`: no mail at all, and the choices stay. Anything else changes ' +
    'nothing. Returns the page with the new state; an unknown link gets a page with status ' +
    '404.',
  async handle(call) {
    const { contactId } = call.params;
    const fields = await formOf(call);
    const action = valuesOf(fields, 'action').at(-1);
    const isAll = action === 'unsubscribe_all';
    if (!isAll && action !== 'save') return showPreferences(call);
    if (!isUuid(contactId)) return unknownPage(call);
    const contact = await changeByLink(call, {
      contactId,
      source: 'public_page',
      hasTopics: true,
      requestOf: (before) => {
        const text = textOf(before, textsFor(call, before));
        return isAll
          ? { subscribed: false, isOptOut: true, text }
          : savedWish(before, fields, text);
      },
    });
    if (!contact) return unknownPage(call);
    const texts = textsFor(call, contact);
    const title = isAll ? texts.unsubscribe.done : texts.topics.saved;
    return preferences(call, contact, texts, title);
  },
});

export const managePages = [managePage, manage];

/** Returns the change in a sent form, for the topics that the page showed. */
function savedWish(before: TopicContact, fields: FormFields, text: string): LinkRequest {
  const [shown, ticked] = [valuesOf(fields, 'shown'), valuesOf(fields, 'topic')];
  const topics = publicTopics(before).filter(({ key }) => shown.includes(key));
  const isTicked = (topic: { key: string }) => ticked.includes(topic.key);
  const isAnyTicked = topics.some(isTicked);
  // For an unsubscribed contact, the page shows all boxes unticked, regardless of earlier choices.
  // So if no box was ticked, nothing is changed.
  if (!isAnyTicked && !before.subscribed) return { isOptOut: false, text };
  return {
    ...(isAnyTicked && { subscribed: true }),
    choices: new Map(topics.map((topic) => [topic.id, isTicked(topic)])),
    isOptOut: before.subscribed && topics.some((topic) => topic.subscribed && !isTicked(topic)),
    text,
  };
}

function valuesOf(fields: FormFields, wanted: string): string[] {
  return fields.flatMap(([name, value]) =>
    name === wanted && typeof value === 'string' ? [value] : [],
  );
}

function publicTopics({ topics }: TopicContact) {
  return topics.filter(({ visibility }) => visibility === 'public');
}

/** Returns the text that the person was shown, without the state of the boxes. */
function textOf(contact: TopicContact, texts: OptOutTexts): string {
  const topics = publicTopics(contact).map(({ name, description }) =>
    description ? `${name}: ${description}` : name,
  );
  const ask = filledFor(contact, topics.length > 0 ? texts.topics.choose : stateOf(contact, texts));
  return [texts.manage.title, ask, ...topics].join('\n');
}

function stateOf({ subscribed }: TopicContact, { manage: texts }: OptOutTexts): string {
  return subscribed ? texts.subscribed : texts.unsubscribed;
}

function showPreferences(call: PageCall): Promise<Answer<string>> {
  return withContact(
    call,
    (contact, texts) => preferences(call, contact, texts, texts.manage.title),
    { hasTopics: true, isForReader: true },
  );
}

function preferences(
  call: PageCall,
  contact: TopicContact,
  texts: OptOutTexts,
  title: string,
): Answer<string> {
  const topics = publicTopics(contact);
  if (topics.length === 0) {
    const next = contact.subscribed ? 'unsubscribe' : 'subscribe';
    const action = actionOf(call, next, { topic: false });
    // If the reader of the mail has another address than the contact, the reader cannot subscribe
    // the contact.
    const isOver = contact.reader !== undefined && !contact.subscribed;
    const form = isOver ? null : { action, buttons: [{ label: texts[next].button }] };
    return contactPage(texts, contact, { title, text: stateOf(contact, texts), form });
  }
  const boxes = topics.map(({ key, name, description, subscribed }) => ({
    name: 'topic',
    value: key,
    label: name,
    description,
    isTicked: contact.subscribed && subscribed,
  }));
  const form = {
    action: actionOf(call, 'manage', { topic: true }),
    boxes,
    hidden: topics.map(({ key }) => ({ name: 'shown', value: key })),
    buttons: [
      { label: texts.topics.save, name: 'action', value: 'save' },
      { label: texts.topics.all, name: 'action', value: 'unsubscribe_all' },
    ],
  };
  return contactPage(texts, contact, { title, text: texts.topics.choose, form });
}
