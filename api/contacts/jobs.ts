import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { findJob, type JobRow, listImports as listRows } from '../../db/jobs/jobs.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { found } from '../../domain/errors.ts';
import type { BulkData, BulkResult, ImportData, ImportResult } from '../../domain/contact/job.ts';
import { endpoint } from '../http/endpoint.ts';
import { present } from '../http/record.ts';
import { cursorListOf, cursorQuery, presentCursorList, time } from '../http/schemas.ts';
import type { OwnerProject } from '../access/caller.ts';
import {
  readContents,
  exampleProjectId,
  exampleRunId,
  exampleTimes,
  jobOf,
} from '../jobs/record.ts';

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

const params = z.object({ jobId: z.string() });

const importExample = {
  id: `import-${exampleProjectId}-${exampleRunId}`,
  state: 'completed' as const,
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
};

async function readImports(db: Database, jobs: readonly JobRow[], project: OwnerProject) {
  const contentOf = await readContents<ImportData, ImportResult>(db, jobs, project);
  return (job: JobRow) => present(ImportJob, job, contentOf(job));
}

export const getImport = endpoint({
  id: 'getImport',
  method: 'GET',
  path: '/contacts/import/{jobId}',
  summary: 'Get the progress and result of an import',
  description:
    '`progress` is in percent. `result` is set when the job has ended; it lists at most ' +
    '1,000 errors, and counts all. A job can be read for 30 days after its end, then the ' +
    'response is JOB_NOT_FOUND.',
  access: 'secret',
  params,
  response: ImportJob,
  problems: ['JOB_NOT_FOUND'],
  example: { response: importExample },
  async handle({ db, caller, params: { jobId } }) {
    const job = found('JOB', jobId, await findJob(db, caller.projectId, 'import', jobId));
    return (await readImports(db, [job], caller.project))(job);
  },
});

const newestFirst: CursorForm = {
  order: 'imports',
  value: 'time',
  isId: (id) => /^import-[0-9a-f-]{73}$/.test(id),
};

export const listImports = endpoint({
  id: 'listImports',
  method: 'GET',
  path: '/imports',
  summary: 'List the imports of the project, newest first',
  description:
    'A cursor list of the jobs of the last 30 days, as GET /contacts/import/{jobId} shows each. ' +
    '`total` counts them on the first page and is 0 on later ones.',
  access: 'secret',
  query: cursorQuery(newestFirst),
  response: cursorListOf(ImportJob),
  example: { response: { data: [importExample], hasMore: false, total: 1 } },
  async handle({ db, caller, query: { cursor, limit } }) {
    const page = { after: cursor, limit: limit + 1 };
    const { rows, total } = await listRows(db, caller.projectId, page);
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.created_at), id: row.id }),
      present: await readImports(db, rows, caller.project),
    });
  },
});

export const getBulkAction = endpoint({
  id: 'getBulkAction',
  method: 'GET',
  path: '/contacts/bulk/{jobId}',
  summary: 'Get the progress and result of a bulk action',
  description:
    '`progress` is in percent. `result` is set when the job has ended; it lists at most ' +
    '1,000 errors, and counts all. A job can be read for 30 days after its end, then the ' +
    'response is JOB_NOT_FOUND.',
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
        errors: [
          {
            contactId: exampleRunId,
            email: null,
            error: 'The project has no contact with this id.',
          },
        ],
      },
      failedReason: null,
      ...exampleTimes,
    },
  },
  async handle({ db, caller, params: { jobId } }) {
    const job = found('JOB', jobId, await findJob(db, caller.projectId, 'bulk', jobId));
    const contentOf = await readContents<BulkData, BulkResult>(db, [job], caller.project);
    return present(BulkJob, job, contentOf(job));
  },
});

export const jobEndpoints = [getImport, listImports, getBulkAction];
