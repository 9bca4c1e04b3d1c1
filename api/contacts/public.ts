import { z } from 'zod';
import { type PublicContact, findPublicContact } from '../../db/contacts/public-contact.ts';
import { found } from '../../domain/errors.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { named, ById } from '../http/schemas.ts';
import { changeByLink, LinkQuery, topicOfLink, requestOfLink } from './link.ts';

/** Endpoints for a customer's opt-out pages, which need only the id of the contact, and no key. */

const Subscription = named('Subscription', {
  id: z.uuid(),
  email: z.string(),
  subscribed: z.boolean(),
});

const example = {
  id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  email: 'ada@shop.example',
  subscribed: true,
};

const getPublicContact = endpoint({
  id: 'getPublicContact',
  method: 'GET',
  path: '/contacts/public/{id}',
  summary: "Get a contact's data for an opt-out page",
  description:
    "For your own opt-out pages. They need only the contact's id, which is in the links of " +
    'its mails.',
  access: 'open',
  params: ById,
  response: Subscription.extend({ language: z.string() }),
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: { ...example, language: 'en' } },
  async handle({ db, params: { id } }) {
    const contact = found('CONTACT', id, await findPublicContact(db, id));
    return {
      ...presentSubscription(contact),
      language: localeOf(contact.data, contact.project_language),
    };
  },
});

const subscribeContact = endpoint({
  id: 'subscribePublicContact',
  method: 'POST',
  path: '/contacts/public/{id}/subscribe',
  summary: 'Subscribe a contact from an opt-out page',
  description:
    'Returns the same if the contact is subscribed already. `e` is the id of the mail with ' +
    "the link; it is ignored unless that mail was sent to the contact's current address. " +
    'With `t`, the key of a topic, the contact also joins this topic.',
  access: 'open',
  params: ById,
  query: LinkQuery,
  response: Subscription,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: example },
  handle: (call) => change(call, true),
});

const unsubscribeContact = endpoint({
  id: 'unsubscribePublicContact',
  method: 'POST',
  path: '/contacts/public/{id}/unsubscribe',
  summary: 'Unsubscribe a contact from an opt-out page',
  description:
    'Returns the same if the contact is unsubscribed already. `e` is the id of the mail with ' +
    'the link; it is ignored unless that mail belongs to the contact. With `t`, the key of a ' +
    'topic, the contact leaves only this topic. If the mail was sent to another address than ' +
    "the contact's current one, that address is added to the suppression list (`opt_out`), " +
    'and the contact does not change.',
  access: 'open',
  params: ById,
  query: LinkQuery,
  response: Subscription,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: { ...example, subscribed: false } },
  handle: (call) => change(call, false),
});

export const publicContactEndpoints = [getPublicContact, subscribeContact, unsubscribeContact];

async function change(call: ChangeCall, subscribed: boolean) {
  const { id: contactId } = call.params;
  const changed = await changeByLink(call, {
    contactId,
    source: 'public_page',
    requestOf: (before) => requestOfLink(topicOfLink(before, call.query), subscribed, null),
  });
  return presentSubscription(found('CONTACT', contactId, changed));
}

type ChangeCall = Call<'open', { id: string }, LinkQuery, unknown>;

function presentSubscription({ id, email, subscribed }: PublicContact) {
  return { id, email, subscribed };
}
