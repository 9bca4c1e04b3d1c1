import { actorOf } from '../access/caller.ts';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { insertImport } from '../../db/transactions/contacts/import-batch.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { cutText } from '../../domain/text-rules.ts';
import { endpoint } from '../http/endpoint.ts';
import { UploadFile, type UploadedFile } from '../http/bodies/upload.ts';
import { JobAccepted } from '../jobs/record.ts';
import { transact } from '../../db/database.ts';

const filenameChars = 255;

export const importContacts = endpoint({
  id: 'importContacts',
  method: 'POST',
  path: '/contacts/import',
  summary: 'Import contacts from a CSV file',
  description:
    'A CSV file in UTF-8 of at most 5 MB in the field `file`, with a column for the address. ' +
    'A job imports the rows after the response; GET /contacts/import/{jobId} shows its ' +
    'progress, and the rows that failed. UNSUPPORTED_MEDIA_TYPE: neither the type is ' +
    'text/csv nor the name ends in .csv.',
  access: 'secret',
  status: 202,
  upload: { bytesMax: limits.importBytes },
  body: z.object({ file: UploadFile }),
  response: JobAccepted,
  problems: ['UNSUPPORTED_MEDIA_TYPE', 'FILE_TOO_LARGE'],
  example: {
    response: {
      message: 'The import has been queued.',
      jobId: `import-0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01-7d2a4f10-1f5e-4c3b-9a0d-2b1c3d4e5f60`,
    },
  },
  async handle({ db, caller, body: { file }, note }) {
    if (!isCsv(file)) {
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
        message: 'The file must have the content type text/csv, or a name that ends with .csv.',
        suggestion: 'Set the content type of the part `file` in the form, or rename the file.',
      });
    }
    const jobId = `import-${caller.project.publicId}-${randomUUID()}`;
    const job = { projectId: caller.projectId, jobId };
    const filename = cutText(file.filename, filenameChars);
    await transact(db, async (tx) => {
      await holdProject(tx, caller.projectId);
      await insertImport(tx, job, {
        causedBy: actorOf(caller),
        filename,
        content: file.bytes(),
      });
      const { projectId } = caller;
      await note({ event: 'contacts.imported', projectId, details: { jobId } }, tx);
    });
    return { message: 'The import has been queued.', jobId };
  },
});

export const importEndpoints = [importContacts];

function isCsv({ contentType, filename }: UploadedFile): boolean {
  return /^text\/csv\s*(?:;|$)/i.test(contentType) || /\.csv$/i.test(filename);
}
