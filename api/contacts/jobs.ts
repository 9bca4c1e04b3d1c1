import { z } from 'zod';
import { findJob, type JobRow } from '../../db/contacts/jobs.ts';
import { found } from '../../domain/errors.ts';
import type { BulkData, BulkResult, ImportData, ImportResult } from '../../domain/contact/job.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import { named, Time } from '../http/schemas.ts';

/** The response of a request that continues as a job. */
export const JobAccepted = named('JobAccepted', { message: z.string(), jobId: z.string() });

const ImportJob = jobOf('ImportJob', {
  data: z.object({ projectId: z.uuid(), filename: z.string(), totalRows: z.int().nullable() }),
  result: z.object({
    totalRows: z.int(),
    successCount: z.int(),
    createdCount: z.int(),
    updatedCount: z.int(),
    failureCount: z.int(),
    errors: z.array(z.object({ row: z.int(), email: z.string(), error: z.string() })),
  }),
});

const operation = z.enum(['subscribe', 'unsubscribe', 'delete']);

const BulkJob = jobOf('BulkJob', {
  data: z.object({
    projectId: z.uuid(),
    operation,
    mode: z.enum(['ids', 'query']),
    totalRequested: z.int().nullable(),
  }),
  result: z.object({
    operation,
    totalRequested: z.int(),
    successCount: z.int(),
    unchanged: z.int(),
    failureCount: z.int(),
    errors: z.array(
      z.object({ contactId: z.uuid(), email: z.string().nullable(), error: z.string() }),
    ),
  }),
});

function jobOf<D extends z.ZodType, R extends z.ZodType>(
  name: string,
  { data, result }: { data: D; result: R },
) {
  return named(name, {
    id: z.string(),
    state: z.enum(['waiting', 'active', 'completed', 'failed', 'cancelled']),
    progress: z.int().min(0).max(100),
    data,
    result: result.nullable(),
    failedReason: z.string().nullable(),
    createdAt: Time,
    startedAt: Time.nullable(),
    finishedAt: Time.nullable(),
  });
}

const params = z.object({ jobId: z.string() });

const exampleTimes = {
  createdAt: '2026-11-21T08:30:00.000Z',
  startedAt: '2026-11-21T08:30:00.400Z',
  finishedAt: '2026-11-21T08:30:01.100Z',
};
const exampleProjectId = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01';
const exampleRunId = '7d2a4f10-1f5e-4c3b-9a0d-2b1c3d4e5f60';

export const getImport = endpoint({
  id: 'getImport',
  method: 'GET',
  path: '/contacts/import/{jobId}',
  tag: 'Contacts',
  summary: 'See how far an import is, and what came of it',
  description:
    '`progress` is in percent. `result` is there when the job has ended; it lists at most ' +
    '1,000 errors and counts all. A job can be read for 30 days after its end, then it is ' +
    'JOB_NOT_FOUND.',
  access: 'secret',
  params,
  response: ImportJob,
  problems: ['JOB_NOT_FOUND'],
  example: {
    response: {
      id: `import-${exampleProjectId}-${exampleRunId}`,
      state: 'completed',
      progress: 100,
      data: { projectId: exampleProjectId, filename: 'people.csv', totalRows: 3 },
      result: {
        totalRows: 3,
        successCount: 2,
        createdCount: 1,
        updatedCount: 1,
        failureCount: 1,
        errors: [{ row: 4, email: 'nope', error: 'Not an email address.' }],
      },
      failedReason: null,
      ...exampleTimes,
    },
  },
  async handle({ db, caller, params: { jobId } }) {
    const job = found('JOB', jobId, await findJob(db, caller.projectId, 'import', jobId));
    return present(ImportJob, job, contentOf<ImportData, ImportResult>(job));
  },
});

export const getBulkAction = endpoint({
  id: 'getBulkAction',
  method: 'GET',
  path: '/contacts/bulk/{jobId}',
  tag: 'Contacts',
  summary: 'See how far a bulk action is, and what came of it',
  description:
    '`progress` is in percent. `result` is there when the job has ended; it lists at most ' +
    '1,000 errors and counts all. A job can be read for 30 days after its end, then it is ' +
    'JOB_NOT_FOUND.',
  access: 'secret',
  params,
  response: BulkJob,
  problems: ['JOB_NOT_FOUND'],
  example: {
    response: {
      id: `bulk-subscribe-${exampleProjectId}-${exampleRunId}`,
      state: 'completed',
      progress: 100,
      data: {
        projectId: exampleProjectId,
        operation: 'subscribe',
        mode: 'ids',
        totalRequested: 3,
      },
      result: {
        operation: 'subscribe',
        totalRequested: 3,
        successCount: 2,
        unchanged: 1,
        failureCount: 1,
        errors: [{ contactId: exampleRunId, email: null, error: 'There is no such contact.' }],
      },
      failedReason: null,
      ...exampleTimes,
    },
  },
  async handle({ db, caller, params: { jobId } }) {
    const job = found('JOB', jobId, await findJob(db, caller.projectId, 'bulk', jobId));
    return present(BulkJob, job, contentOf<BulkData, BulkResult>(job));
  },
});

export const jobEndpoints = [getImport, getBulkAction];

/** The numbers of a job are shown once they are final: it is complete, or failed midway. */
function contentOf<Data, Result>(row: JobRow) {
  const isFinal = row.state === 'completed' || row.state === 'failed';
  return {
    data: row.data as unknown as Data,
    result: isFinal ? (row.result as unknown as Result | null) : null,
  };
}
