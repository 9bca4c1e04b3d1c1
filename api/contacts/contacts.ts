import { z } from 'zod';
import {
  deleteContactHistory,
  deleteContacts,
} from '../../db/transactions/contacts/delete-contacts.ts';
import {
  type ContactRow,
  countContacts,
  findContact,
  listContacts as listRows,
  refuseMergedData,
} from '../../db/contacts/contacts.ts';
import {
  recordContact,
  updateContact as updateRow,
} from '../../db/transactions/contacts/record-contact.ts';
import { type Database, transact } from '../../db/database.ts';
import { applyConsentRequest } from '../../db/transactions/contacts/consent-request.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { type CursorForm, type Position, decodeCursor } from '../../domain/cursor.ts';
import { found, invalidField, notFound } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { limits } from '../../domain/limits.ts';
import {
  consentFields,
  consentWishOf,
  noContradiction,
  requireKeys,
  checkMergedData,
  checkTopics,
} from '../consent/input.ts';
import { evidenceOf } from '../consent/evidence.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { requireMatch, tagged } from '../http/etag.ts';
import {
  ContactData,
  Email,
  cursorFault,
  cursorListOf,
  presentCursorList,
  queryBoolean,
  queryInt,
  time,
  ById,
} from '../http/schemas.ts';
import { ConsentState, Contact, contactExample, contactTag, presentContact } from './record.ts';

const forms = {
  createdAt: { order: 'contacts.createdAt', value: 'time' },
  email: { order: 'contacts.email', value: 'text' },
} as const satisfies Record<string, CursorForm>;

type Sort = keyof typeof forms;

const listContacts = endpoint({
  id: 'listContacts',
  method: 'GET',
  path: '/contacts',
  summary: 'List contacts, newest first; search them by a part of their address',
  description:
    'A cursor list: pass the `cursor` of a response to get the next page. `search` takes at ' +
    'most 255 characters. On the first page `total` is the number of ' +
    'all matches; on later pages it is 0.',
  access: 'secret',
  query: z.object({
    limit: queryInt(1, limits.pageSize, limits.pageSizeDefault),
    cursor: z
      .string()
      .optional()
      .meta({ description: 'The `cursor` of the previous page, or the id of a contact' }),
    search: z
      .string()
      .max(limits.searchChars)
      .optional()
      .meta({ description: 'Part of the address, in any case; % and _ are plain characters' }),
    email: Email.optional().meta({ description: 'The whole address, in any case' }),
    subscribed: queryBoolean.optional(),
    consent: ConsentState.optional().meta({
      description: 'The state of the newest opt-in request',
    }),
    sort: z.enum(['createdAt', 'email']).default('createdAt'),
    dir: z
      .enum(['asc', 'desc'])
      .optional()
      .meta({ description: 'By default asc for email, desc otherwise' }),
  }),
  response: cursorListOf(Contact),
  example: { response: { data: [contactExample], hasMore: false, total: 1 } },
  async handle({ db, caller: { projectId, project }, query }) {
    const { limit, cursor, search, email, subscribed, consent, sort } = query;
    const dir = query.dir ?? (sort === 'email' ? 'asc' : 'desc');
    const filter = { search, email, subscribed, consent };
    const after = cursor === undefined ? null : await readCursor(db, projectId, sort, cursor);
    const total = after ? 0 : await countContacts(db, projectId, filter);
    // One row more than requested shows if there is a next page.
    const rows = await listRows(db, projectId, { filter, sort, dir, after, limit: limit + 1 });
    const position = (row: ContactRow) => positionOf(sort, row);
    return presentCursorList(rows, {
      form: forms[sort],
      limit,
      total,
      position,
      present: (row) => presentContact(row, project),
    });
  },
});

/**
 * Parses the cursor of a list.
 * @throws Problem VALIDATION_ERROR if `cursor` is neither a cursor of this order nor an id
 */
async function readCursor(
  db: Database,
  projectId: string,
  sort: Sort,
  cursor: string,
): Promise<Position> {
  if (isUuid(cursor)) {
    const contact = await findContact(db, projectId, cursor.toLowerCase());
    if (contact) return positionOf(sort, contact);
  }
  const position = decodeCursor(forms[sort], cursor);
  if (!position) throw invalidField('cursor', ...cursorFault);
  return position;
}

function positionOf(sort: Sort, row: ContactRow): Position {
  return { value: sort === 'email' ? row.email : time(row.created_at), id: row.id };
}

export const upsertContact = endpoint({
  id: 'upsertContact',
  method: 'POST',
  path: '/contacts',
  summary: 'Create a contact, or update the one with this address',
  description:
    'Returns 201 for a new contact, which is subscribed unless `subscribed` is false, and ' +
    '200 for an existing one, whose `subscribed` changes only if the request has it. `data` ' +
    'is merged key by key: null removes a key, an empty text is skipped. Merged, it has at ' +
    'most 500 keys and 64 KB as JSON. With `confirm` the contact first gets a mail that asks ' +
    'to confirm. CONSENT_SENDER_REQUIRED: the consent policy has no sender for that mail.',
  access: 'secret',
  problems: ['CONSENT_SENDER_REQUIRED'],
  otherAnswers: [{ status: 201, description: 'The contact is new' }],
  body: z
    .object({
      email: Email,
      subscribed: z.boolean().optional(),
      data: ContactData,
      ...consentFields,
    })
    .refine(...noContradiction),
  response: Contact.extend({
    _meta: z.object({ isNew: z.boolean(), isUpdate: z.boolean() }),
  }),
  example: {
    body: { email: 'ada@shop.example', data: { plan: 'pro', seats: 4 } },
    response: { ...contactExample, _meta: { isNew: true, isUpdate: false } },
  },
  check: (call) => checkTopics(call, call.body),
  checkBeside: (call) => checkMergedData(call, call.body),
  async handle({ db, caller, request, body }) {
    const origin = { source: 'api' as const, ...evidenceOf(caller, request, body.proof) };
    const { isOptIn, topics: keys, ...wish } = consentWishOf(caller, body);
    const topics = await requireKeys(db, caller, keys);
    const { contact, isNew } = await transact(db, async (tx) => {
      const recorded = await recordContact(tx, caller.projectId, {
        ...wish,
        email: body.email,
        data: planContactData(body.data),
        origin,
      });
      await applyConsentRequest(
        tx,
        recorded.contact,
        { isOptIn, topics, keepsLeft: false },
        { ...recorded, origin },
      );
      if (!isOptIn) return recorded;
      const { id } = recorded.contact;
      return {
        ...recorded,
        contact: found('CONTACT', id, await findContact(tx, caller.projectId, id)),
      };
    });
    return answer(
      { ...presentContact(contact, caller.project), _meta: { isNew, isUpdate: !isNew } },
      { status: isNew ? 201 : 200 },
    );
  },
});

const getContact = endpoint({
  id: 'getContact',
  method: 'GET',
  path: '/contacts/{id}',
  summary: 'Get one contact',
  description: 'CONTACT_NOT_FOUND: there is no such contact in the project.',
  access: 'secret',
  params: ById,
  hasEtag: true,
  response: Contact,
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: contactExample },
  async handle({ db, caller, params: { id } }) {
    const row = found('CONTACT', id, await findContact(db, caller.projectId, id));
    return tagged(presentContact(row, caller.project), contactTag(row));
  },
});

export const updateContact = endpoint({
  id: 'updateContact',
  method: 'PATCH',
  path: '/contacts/{id}',
  summary: 'Change a contact; data is merged key by key, null clears all of it',
  description:
    'Fields that are left out keep their value. Merged, `data` has at most 500 keys and 64 ' +
    'KB as JSON. CONTACT_EXISTS: another contact has this address. CONTACT_SUPPRESSED: the ' +
    'person opted out before the contact was deleted, and only they can subscribe again.',
  access: 'secret',
  params: ById,
  hasEtag: true,
  body: z.object({
    email: Email.optional(),
    subscribed: z.boolean().optional(),
    data: ContactData,
  }),
  response: Contact,
  problems: ['CONTACT_NOT_FOUND', 'CONTACT_EXISTS', 'CONTACT_SUPPRESSED'],
  example: {
    body: { subscribed: true, data: { plan: 'pro', trialEnds: null } },
    response: contactExample,
  },
  checkBeside: ({ db, caller, params: { id }, body: { data } }) =>
    refuseMergedData(db, caller.projectId, { id }, planContactData(data)),
  async handle({ db, caller, request, params: { id }, body }) {
    const { email, subscribed, data } = body;
    const change = {
      email,
      subscribed,
      data: data === null ? null : planContactData(data),
      origin: { source: 'api' as const, ...evidenceOf(caller, request) },
      requireState: (before: ContactRow) => requireMatch(request, contactTag(before)),
    };
    const row = await transact(db, async (tx) =>
      found('CONTACT', id, await updateRow(tx, caller.projectId, id, change)),
    );
    return tagged(presentContact(row, caller.project), contactTag(row));
  },
});

export const deleteContact = endpoint({
  id: 'deleteContact',
  method: 'DELETE',
  path: '/contacts/{id}',
  summary: 'Delete a contact with its events, emails, memberships and executions',
  description:
    'Its active executions are cancelled first. This cannot be undone. If the contact has ' +
    'opted out, the suppression list keeps a hash of its address.',
  access: 'secret',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['CONTACT_NOT_FOUND'],
  async handle({ db, caller: { projectId }, params: { id }, note }) {
    await deleteContactHistory(db, projectId, [id]);
    await transact(db, async (tx) => {
      const deleted = await deleteContacts(tx, projectId, [id]);
      if (deleted.length === 0) throw notFound('CONTACT', id);
      const target = { type: 'contact', id };
      await note({ event: 'contact.deleted', projectId, target }, tx);
    });
  },
});

export const contactEndpoints = [
  listContacts,
  upsertContact,
  getContact,
  updateContact,
  deleteContact,
];
