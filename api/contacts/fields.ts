import { z } from 'zod';
import {
  countFieldHolders,
  deleteContactField as removeField,
  listContactDataFields,
  listFieldValues,
} from '../../db/contacts/fields.ts';
import { findFieldUsers } from '../../db/reads/uses/conditions.ts';
import { countContacts } from '../../db/contacts/contacts.ts';
import type { Database } from '../../db/database.ts';
import { type ContactField, contactFieldOf } from '../../domain/contact/field.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { listed, More } from '../http/uses.ts';
import { named, queryInt } from '../http/schemas.ts';

const Field = named('ContactField', {
  field: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'date']),
  coverage: z.int().min(0).max(100).describe('How many percent of all contacts have the field'),
});

const createdAt = { field: 'createdAt', type: 'date', coverage: 100 } as const;
const behindData = [
  { field: 'email', type: 'string', coverage: 100 },
  { field: 'subscribed', type: 'boolean', coverage: 100 },
  { field: 'updatedAt', type: 'date', coverage: 100 },
] as const;

/** The name of a field. The name is not validated, because a contact field may have any name. */
const ByField = z.object({
  field: z.string().meta({ description: '`data.plan`, or `plan`; or a standard field' }),
});

const Named = z.array(z.object({ id: z.uuid(), name: z.string() }));

const Users = { usedInSegments: Named, usedInCampaigns: Named, usedInWorkflows: Named };

export const listContactFields = endpoint({
  id: 'listContactFields',
  method: 'GET',
  path: '/contacts/fields',
  summary: 'List the fields of contacts, each with its type and coverage',
  description:
    'Standard fields are always included; the name of a `data` field is `data.` and its key. ' +
    'The type is that of its newest values. Coverage is in percent, at least 1 if any ' +
    'contact has the field.',
  access: 'secret',
  response: z.object({ fields: z.array(Field), count: z.int() }),
  example: {
    response: {
      fields: [createdAt, { field: 'data.plan', type: 'string', coverage: 62 }, ...behindData],
      count: 5,
    },
  },
  async handle({ db, caller: { projectId } }) {
    const [data, total] = await Promise.all([
      listContactDataFields(db, projectId),
      countContacts(db, projectId, {}),
    ]);
    const custom = data.map(({ key, type, holders }) => ({
      field: `data.${key}`,
      type,
      coverage: coverage(holders, total),
    }));
    const fields = [createdAt, ...custom, ...behindData];
    return { fields, count: fields.length };
  },
});

/**
 * Returns a rounded percentage from 1 to 100. The two counts come from separate statements, so
 * `holders` may exceed `total`.
 */
function coverage(holders: number, total: number): number {
  return Math.min(100, Math.max(1, Math.round((100 * holders) / total)));
}

export const listContactFieldValues = endpoint({
  id: 'listContactFieldValues',
  method: 'GET',
  path: '/contacts/fields/{field}/values',
  summary: 'List the values of a field, the most frequent first',
  description:
    'At most 200 values, by default 100. Standard fields other than `subscribed` return ' +
    'none. A field that no contact has returns an empty list.',
  access: 'secret',
  params: ByField,
  query: z.object({ limit: queryInt(1, limits.fieldValues, limits.fieldValuesDefault) }),
  response: z.object({
    field: z.string(),
    values: z.array(z.union([z.string(), z.number(), z.boolean()])),
    count: z.int(),
    limit: z.int(),
  }),
  example: { response: { field: 'data.plan', values: ['free', 'pro'], count: 2, limit: 100 } },
  async handle({ db, caller, params, query: { limit } }) {
    const field = contactFieldOf(params.field);
    const values =
      field.kind === 'subscribed'
        ? [true, false].slice(0, limit)
        : field.kind === 'data'
          ? await listFieldValues(db, caller.projectId, field.key, limit)
          : [];
    return { field: params.field, values, count: values.length, limit };
  },
});

export const getContactFieldUsage = endpoint({
  id: 'getContactFieldUsage',
  method: 'GET',
  path: '/contacts/fields/{field}/usage',
  summary: 'List the uses of a field, and count the contacts that have it',
  description:
    'Names the segments, campaigns and workflows whose conditions read the field. `canDelete` ' +
    'is false for standard fields and for fields in use.',
  access: 'secret',
  params: ByField,
  response: z.object({ ...Users, more: More, contactCount: z.int(), canDelete: z.boolean() }),
  example: {
    response: {
      usedInSegments: [{ id: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01', name: 'Customers' }],
      usedInCampaigns: [],
      usedInWorkflows: [],
      contactCount: 620,
      canDelete: false,
    },
  },
  async handle({ db, caller: { projectId }, params }) {
    const field = contactFieldOf(params.field);
    const users = await usersOf(db, projectId, field);
    const contactCount =
      field.kind === 'data'
        ? await countFieldHolders(db, projectId, field.key)
        : await countContacts(db, projectId, {});
    const canDelete = field.kind === 'data' && !users.some;
    return { ...users.lists, contactCount, canDelete };
  },
});

export const deleteContactField = endpoint({
  id: 'deleteContactField',
  method: 'DELETE',
  path: '/contacts/fields/{field}',
  summary: 'Delete an unused field from every contact',
  description:
    'Returns the number of contacts that had it. FIELD_NOT_DELETABLE: it is a standard ' +
    'field. FIELD_IN_USE: `details` lists the segments, campaigns and workflows that read it.',
  access: 'secret',
  params: ByField,
  response: z.object({ deletedFrom: z.int() }),
  problems: ['FIELD_NOT_DELETABLE', 'FIELD_IN_USE'],
  example: { response: { deletedFrom: 620 } },
  async handle({ db, caller: { projectId }, params, note }) {
    const field = contactFieldOf(params.field);
    if (field.kind !== 'data') {
      const message = `Every contact has the field "${params.field}", so it cannot be deleted.`;
      throw new Problem('FIELD_NOT_DELETABLE', { message });
    }
    const users = await usersOf(db, projectId, field);
    if (users.some) throw new Problem('FIELD_IN_USE', { details: users.lists });
    // If another request adds a use of the field now, it is not detected. That is harmless, because
    // with the prefix `data.`, a use may name a field that no contact has.
    const target = { type: 'field', id: `data.${field.key}` };
    const deletedFrom = await removeField(db, projectId, field.key, (tx) =>
      note({ event: 'field.deleted', projectId, target }, tx),
    );
    return { deletedFrom };
  },
});

export const contactFieldEndpoints = [
  listContactFields,
  listContactFieldValues,
  getContactFieldUsage,
  deleteContactField,
];

async function usersOf(db: Database, projectId: string, field: ContactField) {
  const { segments, campaigns, workflows } = await findFieldUsers(db, projectId, field);
  return {
    lists: listed({
      usedInSegments: segments,
      usedInCampaigns: campaigns,
      usedInWorkflows: workflows,
    }),
    some: segments.length + campaigns.length + workflows.length > 0,
  };
}
