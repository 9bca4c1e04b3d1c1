import { z } from 'zod';
import { type Database, inSnapshot } from '../../db/database.ts';
import { makeMissingKeys } from '../../db/transactions/files/make-keys.ts';
import { type FileObject, listFileObjects } from '../../db/files/objects.ts';
import { findProject } from '../../db/projects/projects.ts';
import { found, invalidField } from '../../domain/errors.ts';
import {
  fileFormats,
  fileKinds,
  type FilePattern,
  filePathOf,
  matchesFile,
  parseFilePattern,
} from '../../domain/files/kinds.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault, named } from '../http/schemas.ts';
import { readStoredFiles, textOf } from './contents.ts';
import { listPolicies } from './policies.ts';

/** Patterns in a query, as a comma list. */
const Patterns = z
  .string()
  .transform((text) => text.split(',').map((each) => parseFilePattern(each.trim())))
  .refine(
    (patterns) => patterns.every((pattern) => pattern !== null),
    fault(
      'invalid_string',
      `Must be patterns such as template/welcome or workflow/shop-*, separated by commas. Kinds are ${fileKinds.join(', ')}.`,
    ),
  )
  .refine(
    (patterns) => patterns.length <= limits.filePatterns,
    fault('too_big', `Must have at most ${limits.filePatterns} patterns.`),
  )
  .transform((patterns) => patterns.filter((pattern): pattern is FilePattern => pattern !== null));

const FileSet = named('FileSet', {
  project: z.object({ id: z.uuid(), name: z.string() }),
  files: z.record(z.string(), z.string()).describe('The text of each file, by its path'),
  objects: z.array(
    named('FileObject', {
      kind: z.enum(fileKinds),
      key: z.string(),
      id: z.uuid().nullable().describe('null for policies'),
      name: z.string(),
      path: z.string(),
    }),
  ),
});

const example: z.input<typeof FileSet> = {
  project: { id: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01', name: 'Shop' },
  files: { 'topics/news.yaml': 'name: News\nvisibility: public\ndefault: subscribed\n' },
  objects: [
    {
      kind: 'topic',
      key: 'news',
      id: '7e100000-0000-4000-8000-000000000001',
      name: 'News',
      path: 'topics/news.yaml',
    },
  ],
};

const getFiles = endpoint({
  id: 'getFiles',
  method: 'GET',
  path: '/files',
  summary: 'Get the project as files for version control',
  description:
    'Workflows, templates, segments, topics, event subscriptions and policies, without ids: objects ' +
    'refer to each other by keys. An object that was made without a file gets a key from its name ' +
    'now, and keeps it. The same objects give the same bytes, in every project. Policies are ' +
    `included once they were set. At most ${limits.fileObjects} objects and ${limits.fileBytes / 1_000_000} MB.`,
  access: 'secret',
  role: 'ADMIN',
  query: z.object({
    only: Patterns.optional().describe(
      'Only these objects: a comma list of patterns `<kind>/<key>` or `<kind>/<beginning>*`',
    ),
    format: z.enum(fileFormats).default('yaml').describe('Templates are HTML in both formats'),
  }),
  response: FileSet,
  example: { response: example },
  async handle({ db, cipher, caller: { projectId, project }, query: { only, format } }) {
    await makeMissingKeys(db, projectId);
    const { name } = found('PROJECT', project.publicId, await findProject(db, projectId));
    return inSnapshot(db, async (snapshot) => {
      const objects = await listObjects(snapshot, projectId, only);
      const files: Record<string, string> = {};
      const listed: z.input<typeof FileSet>['objects'] = [];
      let bytes = 0;
      const reader = { db: snapshot, projectId, cipher };
      for await (const stored of readStoredFiles(reader, objects)) {
        const { object } = stored;
        const path = filePathOf(object.kind, object.key, format);
        const text = textOf(stored, format);
        bytes += Buffer.byteLength(text);
        if (bytes > limits.fileBytes) throw tooMany();
        files[path] = text;
        listed.push({ ...object, path });
      }
      return { project: { id: project.publicId, name }, files, objects: listed };
    });
  },
});

/** @throws Problem VALIDATION_ERROR if there are too many objects */
async function listObjects(
  db: Database,
  projectId: string,
  only: readonly FilePattern[] | undefined,
): Promise<FileObject[]> {
  const max = limits.fileObjects;
  const objects = await listFileObjects(db, projectId, { only, max });
  const policies = await listPolicies(db, projectId);
  objects.push(...policies.filter((policy) => !only || matchesFile(only, policy)));
  if (objects.length > max) throw tooMany();
  return objects;
}

function tooMany() {
  return invalidField(
    'only',
    'too_big',
    `Files are limited to ${limits.fileObjects} objects and ${limits.fileBytes / 1_000_000} MB at once. Choose some of the objects, such as only=workflow/*.`,
  );
}

export const fileEndpoints = [getFiles];
