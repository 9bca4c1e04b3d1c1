import { z } from 'zod';
import { type ContactRow, findContact, recordContact } from '../db/contacts.ts';
import { planContactData } from '../domain/contact-data.ts';
import { found } from '../domain/errors.ts';
import { answer, endpoint } from './endpoint.ts';
import { ContactData, Email, Time, time, Uuid } from './schemas.ts';

const ContactAnswer = z.object({
  id: z.uuid(),
  email: z.string(),
  subscribed: z.boolean(),
  data: z.record(z.string(), z.unknown()).nullable(),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

const example = {
  id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  email: 'ada@shop.example',
  subscribed: true,
  data: { plan: 'pro', seats: 4 },
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-21T08:30:00.000Z',
};

export const upsertContact = endpoint({
  id: 'upsertContact',
  method: 'POST',
  path: '/contacts',
  tag: 'Contacts',
  summary: 'Create a contact, or update the one with this address',
  access: 'secret',
  body: z.object({ email: Email, subscribed: z.boolean().optional(), data: ContactData }),
  response: ContactAnswer.extend({
    _meta: z.object({ isNew: z.boolean(), isUpdate: z.boolean() }),
  }),
  example: {
    body: { email: 'ada@shop.example', data: { plan: 'pro', seats: 4 } },
    response: { ...example, _meta: { isNew: true, isUpdate: false } },
  },
  async handle({ db, caller, dispatcher, body }) {
    const { contact, isNew, due } = await db.transaction().execute((tx) =>
      recordContact(tx, caller.projectId, {
        email: body.email,
        subscribed: body.subscribed,
        subscribedWhenNew: true,
        data: planContactData(body.data),
        source: 'api',
      }),
    );
    dispatcher.dispatch(due);
    return answer(
      { ...presentContact(contact), _meta: { isNew, isUpdate: !isNew } },
      { status: isNew ? 201 : 200 },
    );
  },
});

export const getContact = endpoint({
  id: 'getContact',
  method: 'GET',
  path: '/contacts/{id}',
  tag: 'Contacts',
  summary: 'Get one contact',
  access: 'secret',
  params: z.object({ id: Uuid }),
  response: ContactAnswer,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: example },
  async handle({ db, caller, params: { id } }) {
    return presentContact(found('CONTACT', id, await findContact(db, caller.projectId, id)));
  },
});

export const contactEndpoints = [upsertContact, getContact];

function presentContact(row: ContactRow) {
  return {
    id: row.id,
    email: row.email,
    subscribed: row.subscribed,
    data: row.data,
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}
