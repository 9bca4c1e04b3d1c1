import { z } from 'zod';
import type { DataField } from '../../db/sql/data-fields.ts';
import { listContactDataFields } from '../../db/contacts/fields.ts';
import { listEventDataFields } from '../../db/workflows/workflows.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { endpoint } from '../http/endpoint.ts';

const Field = z.object({
  field: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'date']),
  category: z.enum(['Contact Fields', 'Custom Data', 'Event Data']),
});

type Field = z.output<typeof Field>;

const category = 'Contact Fields';

const contactFields: Field[] = [
  { field: 'contact.email', type: 'string', category },
  { field: 'contact.subscribed', type: 'boolean', category },
  { field: 'contact.createdAt', type: 'date', category },
  { field: 'contact.updatedAt', type: 'date', category },
];

function fieldsUnder(root: string, fields: DataField[], category: Field['category']): Field[] {
  return fields.map(({ key, type }) => ({ field: `${root}.${key}`, type, category }));
}

export const listWorkflowFields = endpoint({
  id: 'listWorkflowFields',
  method: 'GET',
  path: '/workflows/fields',
  summary: 'List the fields that a CONDITION step can read',
  description:
    'Standard fields, keys of contact data and, with `eventName`, keys of that event, each ' +
    'with its type.',
  access: 'secret',
  query: z.object({
    eventName: EventName.optional().describe('Adds the keys of the newest events of this name'),
  }),
  response: z.object({
    fields: z.array(z.string()),
    typedFields: z.array(Field),
    count: z.int(),
  }),
  example: {
    response: {
      fields: ['contact.email', 'contact.data.plan'],
      typedFields: [
        { field: 'contact.email', type: 'string', category: 'Contact Fields' },
        { field: 'contact.data.plan', type: 'string', category: 'Custom Data' },
      ],
      count: 2,
    },
  },
  async handle({ db, caller: { projectId }, query: { eventName } }) {
    const data = await listContactDataFields(db, projectId);
    const event =
      eventName === undefined ? [] : await listEventDataFields(db, projectId, eventName);
    const typedFields = [
      ...contactFields,
      ...fieldsUnder('contact.data', data, 'Custom Data'),
      ...fieldsUnder('event', event, 'Event Data'),
    ];
    const fields = typedFields.map(({ field }) => field);
    return { fields, typedFields, count: fields.length };
  },
});
