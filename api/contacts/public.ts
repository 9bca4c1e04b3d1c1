import { z } from 'zod';
import {
  type PublicContact,
  findPublicContact,
  recordLinkSubscription,
} from '../../db/contacts/subscriptions.ts';
import { found } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { localeOf } from '../../domain/mail/content.ts';
import { evidenceOfVisitor } from '../consent/evidence.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { Uuid, named } from '../http/schemas.ts';
import { transact } from '../../db/database.ts';

/** For a customer's own opt-out pages: they only need the contact's id. */

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

/** The message whose link was followed, if it was sent to this contact. */
export const Attribution = z.object({
  e: z
    .unknown()
    .optional()
    .meta({ type: 'string', description: 'Id of the email that held the link' }),
});

const subscribeContact = endpoint({
  id: 'subscribePublicContact',
  method: 'POST',
  path: '/contacts/public/{id}/subscribe',
  tag: 'Opt-out',
  summary: 'Subscribe a contact from an opt-out page',
  description:
    'Answers the same when the contact is subscribed already. `e` says which mail the link ' +
    "was in; it is ignored unless that mail is one of the contact's.",
  access: 'open',
  params: z.object({ id: Uuid }),
  query: Attribution,
  response: Subscription,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: example },
  handle: (call) => change(call, call.params.id, true, call.query.e),
});

const unsubscribeContact = endpoint({
  id: 'unsubscribePublicContact',
  method: 'POST',
  path: '/contacts/public/{id}/unsubscribe',
  tag: 'Opt-out',
  summary: 'Unsubscribe a contact from an opt-out page',
  description:
    'Answers the same when the contact is unsubscribed already. `e` says which mail the link ' +
    "was in; it is ignored unless that mail is one of the contact's.",
  access: 'open',
  params: z.object({ id: Uuid }),
  query: Attribution,
  response: Subscription,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: { ...example, subscribed: false } },
  handle: (call) => change(call, call.params.id, false, call.query.e),
});

export const publicContactEndpoints = [getPublicContact, subscribeContact, unsubscribeContact];

async function change(call: ChangeCall, contactId: string, subscribed: boolean, e: unknown) {
  const changed = await changeSubscription(call, {
    contactId,
    subscribed,
    e,
    source: 'public_page',
  });
  return presentSubscription(found('CONTACT', contactId, changed));
}

type ChangeCall = Pick<Call<'open', unknown, unknown, unknown>, 'db' | 'request'>;

/**
 * Changes a subscription by a mail's link. `e`: the message id in the link. Undefined: there is no
 * such contact.
 */
export async function changeSubscription(
  { db, request }: ChangeCall,
  change: {
    contactId: string;
    subscribed: boolean;
    e: unknown;
    source: 'public_page' | 'one_click';
    /** What the person has read: on a page of ours. */
    textOf?: (before: PublicContact) => string;
  },
): Promise<PublicContact | undefined> {
  const { contactId, subscribed, e, source, textOf } = change;
  const emailId = isUuid(e) ? e : null;
  const origin = { source, ...evidenceOfVisitor(request, null) };
  return transact(db, (tx) =>
    recordLinkSubscription(tx, { contactId, subscribed, emailId, origin, textOf }),
  );
}

function presentSubscription({ id, email, subscribed }: PublicContact) {
  return { id, email, subscribed };
}
