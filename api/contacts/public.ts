import { z } from 'zod';
import { type PublicContact, findPublicContact } from '../../db/contacts/public-contact.ts';
import { found } from '../../domain/errors.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { Uuid, named } from '../http/schemas.ts';
import { changeByLink, LinkQuery, topicOfLink, wishOfLink } from './link.ts';

/** Endpoints for a customer's own opt-out pages. They need only the contact's id. */

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
  tag: 'Opt-out',
  summary: 'Get what an opt-out page shows of a contact',
  description:
    'For opt-out pages of your own: the id of the contact, which the links of its mails hold, ' +
    'is all they need.',
  access: 'open',
  params: z.object({ id: Uuid }),
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
  tag: 'Opt-out',
  summary: 'Subscribe a contact from an opt-out page',
  description:
    'Answers the same when the contact is subscribed already. `e` says which mail the link ' +
    "was in; it is ignored unless that mail went to the contact's address of now. With `t`, the key of " +
    'a topic, the contact joins this topic, too.',
  access: 'open',
  params: z.object({ id: Uuid }),
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
  tag: 'Opt-out',
  summary: 'Unsubscribe a contact from an opt-out page',
  description:
    'Answers the same when the contact is unsubscribed already. `e` says which mail the link ' +
    "was in; it is ignored unless that mail is one of the contact's. With `t`, the key of a topic, " +
    'the contact leaves this topic alone. By a mail to another address than that of the contact now, ' +
    'that address goes on the suppression list (`opt_out`), and the contact stays as it is.',
  access: 'open',
  params: z.object({ id: Uuid }),
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
    wishOf: (before) => wishOfLink(topicOfLink(before, call.query), subscribed, null),
  });
  return presentSubscription(found('CONTACT', contactId, changed));
}

type ChangeCall = Call<'open', { id: string }, LinkQuery, unknown>;

function presentSubscription({ id, email, subscribed }: PublicContact) {
  return { id, email, subscribed };
}
