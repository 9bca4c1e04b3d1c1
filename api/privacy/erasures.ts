import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { beginErasure } from '../../db/transactions/erasure/begin-erasure.ts';
import { type ErasureRow, findErasure } from '../../db/erasure/erasures.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { allCounts, type ErasureCounts, erasureCounts } from '../../domain/contact/erasure.ts';
import { found, notFound } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import { named, Time, time, ById } from '../http/schemas.ts';

const exampleId = 'f1000000-0000-4000-8000-000000000001';
const eraseContact = endpoint({
  id: 'eraseContact',
  method: 'POST',
  path: '/contacts/{id}/erase',
  summary: 'Erase a contact: remove every trace of it, also from records of others',
  description:
    'The contact is deleted with this response; a run removes the rest, once mail that is ' +
    'being handed over has settled. GET /erasures/{id}, with `jobId` as the id, returns the ' +
    'receipt. With `suppress` the suppression list keeps a hash of the address, so that a ' +
    'contact created again is unsubscribed. This cannot be undone.',
  access: 'secret',
  status: 202,
  params: ById,
  body: z.object({
    suppress: z
      .boolean()
      .default(true)
      .describe('true: the suppression list keeps a hash of the address'),
  }),
  response: named('ErasureAccepted', { message: z.string(), jobId: z.uuid() }),
  problems: ['CONTACT_NOT_FOUND'],
  example: { body: {}, response: { message: 'The contact is being erased.', jobId: exampleId } },
  async handle({ db, caller, params: { id }, body: { suppress }, keyUse, note }) {
    return transact(db, async (tx) => {
      await holdProject(tx, caller.projectId);
      const jobId = await beginErasure(tx, caller.projectId, id, { suppress });
      if (jobId === undefined) throw notFound('CONTACT', id);
      const { projectId } = caller;
      const target = { type: 'contact', id };
      const details = { contactId: id, jobId };
      await note({ event: 'contact.erased', projectId, target, details }, tx);
      const answer = { message: 'The contact is being erased.', jobId };
      await keyUse?.completeIn(tx, answer, 202);
      return answer;
    });
  },
});

const meanings: Record<keyof ErasureCounts, string> = {
  contact: 'The contact',
  events: 'Its events that are stored as rows',
  emails: 'Its mail, received mail among it',
  executions: 'Its executions, with their steps',
  memberships: 'Its memberships in segments',
  topics: 'Its choices of topics',
  consent: 'Lines of its consent log',
  attachments: 'Files that no other mail uses',
  mailbox: 'Messages of the local mailbox',
  otherEmails: 'Mail of other contacts to the address, with content removed',
  jobErrors: 'Jobs with the address in their result',
  idempotency: 'Stored responses with the address',
  deliveries: "Deliveries of event subscriptions, and receivers' responses with the address",
  suppression: 'Entries of the suppression list that have changed',
};

const Erasure = named('Erasure', {
  id: z.uuid().meta({ examples: [exampleId] }),
  state: z.enum(['waiting', 'active', 'completed']),
  requestedAt: Time,
  at: Time.nullable().describe('When the erasure was completed; null: not yet'),
  counts: z
    .object(
      Object.fromEntries(
        erasureCounts.map((key) => [key, z.int().describe(meanings[key])]),
      ) as Record<keyof ErasureCounts, z.ZodInt>,
    )
    .nullable()
    .describe('Counts of removed data; null until completed'),
  receiptHash: z
    .string()
    .nullable()
    .describe(
      'SHA-256 of the JSON text {"id","requestedAt","at","counts"} without white space, in hex',
    ),
});

const getErasure = endpoint({
  id: 'getErasure',
  method: 'GET',
  path: '/erasures/{id}',
  summary: 'Get the progress of an erasure, and its receipt',
  description:
    'A receipt holds no personal data and stays as long as the project. ERASURE_NOT_FOUND: there is no ' +
    'such erasure in the project.',
  access: 'secret',
  params: ById,
  response: Erasure,
  problems: ['ERASURE_NOT_FOUND'],
  example: {
    response: {
      id: exampleId,
      state: 'completed',
      requestedAt: '2026-11-21T08:30:00.000Z',
      at: '2026-11-21T08:30:01.000Z',
      counts: allCounts({ contact: 1, events: 12, emails: 3, consent: 2, suppression: 1 }),
      receiptHash: 'c1e6ad6cfb4bd26a49e4316b6ce6dcc3b1b4c84e6b8c2ccb7f9b2a5e1d0f7a36',
    },
  },
  async handle({ db, caller, params: { id } }) {
    return presentErasure(found('ERASURE', id, await findErasure(db, caller.projectId, id)));
  },
});

function presentErasure(row: ErasureRow): z.input<typeof Erasure> {
  const counts = row.counts as unknown as Partial<ErasureCounts>;
  const at = time(row.completed_at);
  return present(Erasure, row, { at, counts: at === null ? null : allCounts(counts) });
}

export const erasureEndpoints = [eraseContact, getErasure];
