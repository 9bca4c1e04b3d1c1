import { actorOf } from '../access/caller.ts';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { insertBulk } from '../../db/transactions/contacts/change-in-bulk.ts';
import { holdProject } from '../../db/projects/projects.ts';
import type { BulkOperation } from '../../domain/contact/job.ts';
import { selection } from '../../domain/filter/selection.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { Uuid, fault, ignoring } from '../http/schemas.ts';
import { ConditionInput } from '../segments/condition-input.ts';
import { refuseBadReferences } from '../segments/conditions.ts';
import { JobAccepted } from '../jobs/record.ts';
import { transact } from '../../db/database.ts';
import { whenRight } from '../../domain/errors.ts';

const missing = (field: string, text: string) => ({
  path: [field],
  ...fault('required', text),
  ...whenRight('mode', field),
});

/** The selected contacts: a list, or all contacts that match when the job starts. */
const Selected = selection({
  mode: z.enum(['ids', 'query']).default('ids'),
  contactIds: z
    .array(Uuid)
    .min(1)
    .max(limits.bulkIds)
    .optional()
    .describe('Required with mode ids; ignored with mode query'),
  filter: selection({
    search: z.string().max(limits.searchChars).optional(),
    subscribed: z.boolean().optional(),
    condition: ConditionInput.optional().describe('As in segments'),
  })
    .optional()
    .describe('Required with mode query, where {} means every contact; ignored with mode ids'),
  excludeIds: z
    .array(Uuid)
    .max(limits.bulkExcludeIds)
    .default([])
    .describe('Contacts to leave out with mode query; ignored with mode ids'),
})
  .refine(
    ({ mode, contactIds }) => mode === 'query' || contactIds,
    missing(
      'contactIds',
      'Is required when `mode` is "ids", which is the default. To use a filter, set `mode` to "query".',
    ),
  )
  .refine(
    ({ mode, filter }) => mode === 'ids' || filter,
    missing('filter', 'Is required when `mode` is "query". Send `{}` to choose every contact.'),
  );

const Selection = ignoring('contactIds', ({ mode }) => mode === 'query', Selected);

const exampleId = '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11';

function bulkEndpoint(operation: BulkOperation, summary: string) {
  return endpoint({
    id: `bulk${operation[0]!.toUpperCase()}${operation.slice(1)}Contacts`,
    method: 'POST',
    path: `/contacts/bulk-${operation}`,
    summary,
    description:
      'A job does the work after the response; GET /contacts/bulk/{jobId} shows its ' +
      'progress. Mode `ids` takes 1 to 1,000 `contactIds`, and ignores `filter` and ' +
      '`excludeIds`. Mode `query` takes a `filter`, which is evaluated when the job starts, ' +
      'and at most 10,000 `excludeIds`; `contactIds` is ignored. Contacts must meet all of the ' +
      'filter. The job fails if its condition takes longer than 20 seconds.',
    access: 'secret',
    status: 202,
    body: Selection,
    response: JobAccepted,
    example: {
      body: { mode: 'query', filter: { search: '@shop.example' }, excludeIds: [exampleId] },
      response: {
        message: 'The bulk action has been queued.',
        jobId: `bulk-${operation}-0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01-${exampleId}`,
      },
    },
    check: ({ db, caller: { projectId }, body: { mode, filter } }) =>
      refuseBadReferences(
        db,
        projectId,
        mode === 'query' && filter?.condition
          ? { ...filter.condition, field: 'filter.condition' }
          : null,
      ),
    async handle({ db, caller, body: { mode, contactIds, filter, excludeIds }, note }) {
      const jobId = `bulk-${operation}-${caller.project.publicId}-${randomUUID()}`;
      const job = { projectId: caller.projectId, jobId };
      const which =
        mode === 'ids'
          ? { contactIds: contactIds ?? [] }
          : {
              query: { filter: { ...filter, condition: filter?.condition?.condition }, excludeIds },
            };
      await transact(db, async (tx) => {
        await holdProject(tx, caller.projectId);
        await insertBulk(tx, job, { operation, causedBy: actorOf(caller), ...which });
        const event = operation === 'delete' ? 'contacts.deleted' : 'contacts.changed';
        const { projectId } = caller;
        await note({ event, projectId, details: { operation, jobId } }, tx);
      });
      return { message: 'The bulk action has been queued.', jobId };
    },
  });
}

export const bulkEndpoints = [
  bulkEndpoint('subscribe', 'Subscribe many contacts'),
  bulkEndpoint('unsubscribe', 'Unsubscribe many contacts'),
  bulkEndpoint('delete', 'Delete many contacts'),
];
