import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  deleteSuppression,
  findSuppression,
  listSuppressions,
  recordSuppressions,
  type SuppressionRow,
} from '../../db/suppression/list.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { found, notFound } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { normaliseEmail } from '../../domain/email-address.ts';
import { suppressionReasons, suppressionScopes } from '../../domain/mail/suppression.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf, present } from '../http/record.ts';
import {
  cursorListOf,
  cursorQuery,
  Email,
  Moment,
  named,
  presentCursorList,
  Time,
  time,
  addFault,
} from '../http/schemas.ts';

const record = {
  email: z
    .string()
    .nullable()
    .describe('null in lists while only a hash of it is kept')
    .meta({ examples: ['bo@x.example'] }),
  hashed: z
    .boolean()
    .describe('true: only a hash of the address is kept')
    .meta({ examples: [false] }),
  reason: z.enum(suppressionReasons),
  scope: z
    .enum(suppressionScopes)
    .describe('`marketing`: no mail of class MARKETING; `all`: no mail except tests of campaigns'),
  emailId: z
    .uuid()
    .nullable()
    .describe('The mail whose feedback or link made the entry')
    .meta({ examples: ['c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21'] }),
  until: Time.nullable()
    .describe('When the entry ends; null: it does not end')
    .meta({ examples: [null] }),
  createdAt: Time,
};

export const SuppressionEntry = named('Suppression', record);

const Found = named('SuppressionOfAddress', {
  ...record,
  history: z
    .array(
      z.object({ at: Time, action: z.string(), source: z.string(), topic: z.string().nullable() }),
    )
    .optional()
    .describe('The consent of an erased contact, oldest first'),
});

const entryExample = exampleOf(SuppressionEntry);

/**
 * Returns the record of an entry.
 * @param asked the address, if the request contains it.
 */
export function presentSuppression(row: SuppressionRow, asked?: string) {
  const hashed = row.email === null;
  return present(SuppressionEntry, row, { hashed, email: asked ?? row.email });
}

const ByEmail = z.object({ email: Email });

const newestFirst: CursorForm = { order: 'suppressions', value: 'time' };

const getSuppressions = endpoint({
  id: 'listSuppressions',
  method: 'GET',
  path: '/suppression-list',
  summary: 'List the addresses that the project must not send to, newest first',
  description:
    'A cursor list. `search` finds a part of the addresses that are kept in plain text. On the first page `total` is the number of ' +
    'all matches; on later pages it is 0.',
  access: 'secret',
  query: cursorQuery(newestFirst).extend({
    search: z
      .string()
      .max(limits.searchChars)
      .optional()
      .meta({ description: 'Part of the address, in any case; % and _ are plain characters' }),
    reason: z.enum(suppressionReasons).optional().describe('Why the address is on the list'),
    scope: z.enum(suppressionScopes).optional().describe('The mail that the address does not get'),
  }),
  response: cursorListOf(SuppressionEntry),
  example: { response: { data: [entryExample], hasMore: false, total: 1 } },
  async handle({ db, caller, query: { cursor, limit, ...filter } }) {
    const query = { ...filter, after: cursor, limit: limit + 1 };
    const { rows, total } = await listSuppressions(db, caller.projectId, query);
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.created_at), id: row.id }),
      present: (row) => presentSuppression(row),
    });
  },
});

const Until = Moment.superRefine((until, context) => {
  if (until <= new Date()) addFault(context, 'too_small', 'Must be in the future.');
});

const Recorded = named('SuppressionsRecorded', {
  added: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  invalid: z.array(z.string()).describe('Invalid addresses, as sent'),
});

const addSuppressions = endpoint({
  id: 'addSuppressions',
  method: 'POST',
  path: '/suppression-list',
  summary: 'Add up to 1,000 addresses to the suppression list',
  description:
    'If an address is on the list already, the wider scope and the later end apply, with the ' +
    'reason of the entry that has widened the scope. Repeated addresses count once. No ' +
    'contact is changed.',
  access: 'secret',
  body: z.object({
    emails: z.array(z.string()).min(1).max(limits.suppressions),
    scope: z.enum(suppressionScopes).default('marketing'),
    reason: z.enum(['manual', 'import']).default('manual'),
    until: Until.nullable().optional().describe('When the entries end; null: they do not end'),
  }),
  response: Recorded,
  example: {
    body: { emails: ['bo@x.example', 'no address'], scope: 'all' },
    response: { added: 1, updated: 0, unchanged: 0, invalid: ['no address'] },
  },
  async handle({ db, caller, body: { emails, scope, reason, until = null }, keyUse, note }) {
    const stored = emails.map(normaliseEmail);
    const valid = [...new Set(stored.flatMap((email) => email ?? []))];
    const given = valid.map((email) => ({ email, scope, reason, until }));
    return transact(db, async (tx) => {
      const { added, updated } = await recordSuppressions(tx, caller.projectId, given);
      if (added + updated > 0) {
        const details = { added, updated };
        await note({ event: 'suppression.added', projectId: caller.projectId, details }, tx);
      }
      const answer = {
        added,
        updated,
        unchanged: valid.length - added - updated,
        invalid: emails.filter((_, index) => stored[index] === null),
      };
      await keyUse?.completeIn(tx, answer);
      return answer;
    });
  },
});

const getSuppression = endpoint({
  id: 'getSuppression',
  method: 'GET',
  path: '/suppression-list/{email}',
  summary: "Get an address's entry on the suppression list",
  description:
    'An entry with only a hash is also found by its address; it has the consent `history` of ' +
    'the erased contact. SUPPRESSION_NOT_FOUND: the address is not on the list.',
  access: 'secret',
  params: ByEmail,
  response: Found,
  problems: ['SUPPRESSION_NOT_FOUND'],
  example: { response: entryExample },
  async handle({ db, caller, params: { email } }) {
    const row = found('SUPPRESSION', email, await findSuppression(db, caller.projectId, email));
    const history = (row.history ?? []) as unknown as z.input<typeof Found>['history'];
    return { ...presentSuppression(row, email), ...(row.email === null ? { history } : {}) };
  },
});

const removeSuppression = endpoint({
  id: 'removeSuppression',
  method: 'DELETE',
  path: '/suppression-list/{email}',
  summary: 'Remove an address from the suppression list',
  description: 'This subscribes no contact. SUPPRESSION_NOT_FOUND: the address is not on the list.',
  access: 'secret',
  status: 204,
  params: ByEmail,
  response: z.void(),
  problems: ['SUPPRESSION_NOT_FOUND'],
  async handle({ db, caller: { projectId }, params: { email }, note }) {
    await transact(db, async (tx) => {
      const wasThere = await deleteSuppression(tx, projectId, email);
      if (!wasThere) throw notFound('SUPPRESSION', email);
      await note({ event: 'suppression.removed', projectId }, tx);
    });
  },
});

export const suppressionEndpoints = [
  getSuppressions,
  addSuppressions,
  getSuppression,
  removeSuppression,
];
