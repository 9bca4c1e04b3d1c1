import { z } from 'zod';
import type { ContactRow } from '../../db/contacts/contacts.ts';
import { listContactDataFields } from '../../db/contacts/fields.ts';
import type { Database } from '../../db/database.ts';
import { readSnapshot } from '../../db/reads/contacts/export.ts';
import { type ContactSelection, readSelected } from '../../db/reads/contacts/matching.ts';
import { csvLine } from '../../domain/contact/csv-cells.ts';
import { contactFieldOf } from '../../domain/contact/field.ts';
import { limits } from '../../domain/limits.ts';
import { Answer, endpoint } from '../http/endpoint.ts';
import { time } from '../http/schemas.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import {
  givenCondition,
  oneCondition,
  selectionExample,
  SelectionFields,
  selectionOf,
} from './selection.ts';

export const exportContacts = endpoint({
  id: 'exportContacts',
  method: 'POST',
  path: '/contacts/export',
  summary: 'Export the contacts that a condition selects, as CSV',
  description:
    'All contacts if nothing is selected, oldest first, as of one moment. `columns` are names of ' +
    'GET /contacts/fields; without them there is a column for each. A list or an object in a cell ' +
    'is JSON. A text that a spreadsheet would run as a formula begins with an apostrophe. The ' +
    'response is streamed; one that breaks off is incomplete. It breaks off when the client reads ' +
    'nothing for five seconds. A project has two exports at a time; further ones wait. ' +
    'SERVICE_UNAVAILABLE: this export has waited too long. CONDITION_TOO_HEAVY: the search took ' +
    'longer than 20 seconds.',
  access: 'secret',
  idempotent: false,
  whileDisabled: true,
  contentType: 'text/csv',
  body: SelectionFields.extend({
    columns: z
      .array(z.string().min(1).max(limits.exportedColumnChars))
      .min(1)
      .max(limits.exportedColumns)
      .optional()
      .describe('Fields of contacts, such as `email` or `data.plan`'),
  }).superRefine(...oneCondition),
  response: z.string(),
  problems: ['CONDITION_TOO_HEAVY'],
  example: {
    body: { ...selectionExample, columns: ['email', 'data.plan'] },
    response: 'email,data.plan\r\nada@shop.example,pro\r\n',
  },
  check: ({ db, caller: { projectId }, body }) =>
    refuseBadReferences(db, projectId, givenCondition(body)),
  async handle({ db, exports: slots, caller: { projectId }, body, note }) {
    const { columns, ...selected } = body;
    await note({ event: 'contacts.exported', projectId });
    const end = new AbortController();
    const room = { slots, projectId, giveWay: () => end.abort() };
    return new Answer(undefined as never, {
      headers: { 'Content-Disposition': 'attachment; filename="contacts.csv"' },
      text: readSnapshot(db, room, (snapshot) =>
        exported(snapshot, projectId, selectionOf(selected), columns),
      ),
      signal: end.signal,
    });
  },
});

/**
 * Yields the text of the export. If an error occurs before the first contacts are read, the error
 * is the response of the request.
 */
async function* exported(
  db: Database,
  projectId: string,
  selection: ContactSelection,
  given: readonly string[] | undefined,
): AsyncGenerator<string, void, undefined> {
  const columns = given ?? (await allColumns(db, projectId));
  const cells = columns.map(cellOf);
  let before = csvLine(columns);
  for await (const rows of readSelected(db, projectId, selection)) {
    yield before + rows.map((row) => csvLine(cells.map((cell) => cell(row)))).join('');
    before = '';
  }
  yield before;
}

/** Lists the names of all fields, in the order of GET /contacts/fields. */
async function allColumns(db: Database, projectId: string): Promise<string[]> {
  const data = await listContactDataFields(db, projectId);
  const keys = data.map(({ key }) => `data.${key}`);
  return ['email', 'subscribed', ...keys, 'createdAt', 'updatedAt'];
}

/** Returns a function that reads the value of a field. */
function cellOf(column: string): (row: ContactRow) => unknown {
  const field = contactFieldOf(column);
  switch (field.kind) {
    case 'email':
    case 'subscribed':
      return (row) => row[field.kind];
    case 'time':
      return (row) => time(field.name === 'createdAt' ? row.created_at : row.updated_at);
    case 'data':
      return ({ data }) => (data && Object.hasOwn(data, field.key) ? data[field.key] : null);
  }
}
