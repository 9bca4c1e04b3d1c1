import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { ContactRow } from '../../db/contacts/contacts.ts';
import { listSelected } from '../../db/reads/contacts/matching.ts';
import { type CursorForm, decodeCursor } from '../../domain/cursor.ts';
import { invalidField } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { cursorFault, cursorListOf, presentCursorList, time } from '../http/schemas.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import { Contact, contactExample, presentContact } from '../contacts/record.ts';
import {
  givenCondition,
  oneCondition,
  selectionExample,
  SelectionFields,
  selectionOf,
} from './selection.ts';

/** Lists the contacts that match a condition. */

const ContactQuery = SelectionFields.extend({
  limit: z.int().min(1).max(limits.pageSize).default(limits.pageSizeDefault),
  cursor: z.string().optional().describe('The `cursor` of the previous page'),
  sort: z.enum(['createdAt', 'email']).default('createdAt'),
  dir: z.enum(['asc', 'desc']).optional().describe('By default asc for email, desc otherwise'),
}).superRefine(...oneCondition);

export const queryContacts = endpoint({
  id: 'queryContacts',
  method: 'POST',
  path: '/contacts/query',
  summary: 'List the contacts that a condition selects, newest first',
  description:
    'A cursor list, like GET /contacts. A contact is listed if all of `condition`, `search` and ' +
    '`subscribed` select it; without them, every contact is. A cursor is valid only with the ' +
    'same selection and order. Nothing is changed, and `Idempotency-Key` is ignored. ' +
    'CONDITION_TOO_HEAVY: the search took longer than 20 seconds.',
  access: 'secret',
  idempotent: false,
  whileDisabled: true,
  body: ContactQuery,
  response: cursorListOf(Contact),
  problems: ['CONDITION_TOO_HEAVY'],
  example: {
    body: selectionExample,
    response: { data: [contactExample], hasMore: false, total: 1 },
  },
  check: ({ db, caller: { projectId }, body }) =>
    refuseBadReferences(db, projectId, givenCondition(body)),
  async handle({ db, caller: { projectId, project }, body }) {
    const { limit, cursor, sort } = body;
    const dir = body.dir ?? (sort === 'email' ? 'asc' : 'desc');
    const selection = selectionOf(body);
    const form: CursorForm = {
      order: `contacts.${sort} ${digestOf([dir, selection])}`,
      value: sort === 'email' ? 'text' : 'time',
    };
    const after = cursor === undefined ? null : decodeCursor(form, cursor);
    if (cursor !== undefined && !after) throw invalidField('cursor', ...cursorFault);
    const page = { sort, dir, after, limit: limit + 1 } as const;
    const { rows, total } = await listSelected(db, projectId, selection, page);
    return presentCursorList(rows, {
      form,
      limit,
      total,
      position: (row: ContactRow) => ({
        value: sort === 'email' ? row.email : time(row.created_at),
        id: row.id,
      }),
      present: (row) => presentContact(row, project),
    });
  },
});

/**
 * Returns a short hash that a cursor contains. A cursor of another selection or order has another
 * hash, and is refused.
 */
function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16);
}
