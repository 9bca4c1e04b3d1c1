import { formWith } from '../projects/upload.ts';
import type { Play, World } from './play.ts';

const upload = await formWith('email\nada@people.test\n');

async function addContact({ api, project, ids }: World) {
  const body = { email: 'ada@people.test', data: { plan: 'pro' } };
  const answer = await api.request('POST', '/contacts', { key: project.secretKey, body });
  ids['contact'] = answer.body.id;
}

/** Changes of contacts, fields and events, in an order in which they are possible. */
export const contactChanges: Play[] = [
  {
    id: 'importContacts',
    event: 'contacts.imported',
    body: upload.body as object,
    headers: upload.headers!,
    wrong: { body: 'no form' },
  },
  {
    id: 'bulkSubscribeContacts',
    event: 'contacts.changed',
    body: ({ ids }) => ({ contactIds: [ids['contact']] }),
    prepare: addContact,
  },
  {
    id: 'bulkUnsubscribeContacts',
    event: 'contacts.changed',
    body: { mode: 'query', filter: {} },
  },
  { id: 'bulkDeleteContacts', event: 'contacts.deleted', body: { mode: 'query', filter: {} } },
  {
    id: 'deleteContactField',
    event: 'field.deleted',
    params: { field: 'field' },
    wrong: { ids: { field: 'email' } },
    prepare: ({ ids }) => (ids['field'] = 'data.plan'),
  },
  {
    id: 'exportContacts',
    event: 'contacts.exported',
    body: {},
    wrong: { body: { columns: [] } },
  },
  { id: 'deleteContact', event: 'contact.deleted' },
  { id: 'eraseContact', event: 'contact.erased', body: {}, prepare: addContact },
  {
    id: 'deleteEvent',
    event: 'events.deleted',
    params: { eventName: 'eventName' },
    wrong: { ids: { eventName: 'email.sent' } },
    async prepare({ api, project, ids }) {
      ids['eventName'] = 'paid';
      const body = { event: 'paid', email: 'bob@people.test' };
      await api.request('POST', '/v1/track', { key: project.secretKey, body });
    },
  },
];
