import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  findUploadUsage,
  forgetUpload,
  listUploads,
  markUploadRemoved,
} from '../../db/projects/uploads.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { imageTypeOfName, imageTypes } from '../../domain/upload/image-type.ts';
import { readActors } from '../actors/actor.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { cursorListOf, cursorQuery, named, presentCursorList, time } from '../http/schemas.ts';
import { presentFile, StoredFile, storedFileExample, uploadsOff } from './record.ts';

/** The stored files of a project. */

const newestFirst: CursorForm = { order: 'uploads', value: 'time', isId: isFileKey };

function isFileKey(text: string): boolean {
  return /^[0-9a-f-]{36}\/[0-9a-f-]{36}\.[a-z]+$/.test(text);
}

const listFiles = endpoint({
  id: 'listUploads',
  method: 'GET',
  path: '/uploads',
  summary: 'List the uploaded files of the project, newest first',
  description:
    'A cursor list. `usage` has the number of files, their size in bytes, and the limit of this ' +
    'size, `UPLOAD_QUOTA_MB`; null: no limit. Files that are being stored or deleted count in ' +
    '`usage.bytes`, too.',
  access: 'secret',
  unavailable: uploadsOff,
  query: cursorQuery(newestFirst),
  response: named('UploadList', {
    ...cursorListOf(StoredFile).shape,
    usage: z.object({ files: z.int(), bytes: z.int(), limit: z.int().nullable() }),
  }),
  problems: ['UPLOADS_DISABLED'],
  example: {
    response: {
      data: [storedFileExample],
      hasMore: false,
      total: 1,
      usage: { files: 1, bytes: 20_480, limit: 1_048_576_000 },
    },
  },
  async handle({ db, config, files, caller: { project }, query: { cursor, limit } }) {
    if (!files) throw new Problem('UPLOADS_DISABLED');
    const rows = await listUploads(db, project.publicId, { after: cursor, limit: limit + 1 });
    const usage = await findUploadUsage(db, project.publicId);
    const actorOf = await readActors(
      db,
      rows.map((row) => row.created_by),
    );
    const list = presentCursorList(rows, {
      form: newestFirst,
      limit,
      total: cursor ? 0 : usage.files,
      position: (row) => ({ value: time(row.created_at), id: row.key }),
      present: (row) => presentFile(row, files, actorOf),
    });
    return { ...list, usage: { ...usage, limit: config.uploadQuotaBytes } };
  },
});

const deleteFile = endpoint({
  id: 'deleteUpload',
  method: 'DELETE',
  path: '/uploads/files/{key}',
  summary: 'Delete an uploaded file',
  description:
    'Its URL returns 404 within a minute, also in mails that were sent; caches of others may keep ' +
    'it longer. It no longer counts for the quota.',
  access: 'secret',
  unavailable: uploadsOff,
  status: 204,
  params: z.object({ key: z.string() }),
  response: z.void(),
  problems: ['FILE_NOT_FOUND', 'UPLOADS_DISABLED'],
  async handle({ db, files, log, caller: { projectId, project }, params: { key }, note }) {
    if (!files) throw new Problem('UPLOADS_DISABLED');
    await transact(db, async (tx) => {
      const bytes = await markUploadRemoved(tx, project.publicId, key);
      if (bytes === null) throw notFound('FILE', key);
      const target = { type: 'upload', id: key };
      await note({ event: 'upload.deleted', projectId, target, details: { bytes } }, tx);
    });
    // If this process dies or the storage fails here, the periodic sweep deletes the file.
    try {
      await files.remove(key);
      await forgetUpload(db, key);
    } catch (error) {
      log.warn({ error, key }, 'An uploaded file could not be deleted; the sweep deletes it');
    }
  },
});

const getFile = endpoint({
  id: 'getFile',
  method: 'GET',
  path: '/uploads/files/{key}',
  summary: 'Get an uploaded file, if this server stores files itself',
  description:
    'May be cached for ever, because a file never changes. FILE_NOT_FOUND: also if the ' +
    'server stores its files elsewhere.',
  access: 'open',
  contentType: 'image/png',
  otherAnswers: [
    {
      status: 200,
      description: 'with its uploaded type',
      contentTypes: Object.keys(imageTypes),
    },
  ],
  params: z.object({ key: z.string() }),
  response: z.custom<Buffer>().meta({ type: 'string', format: 'binary' }),
  problems: ['FILE_NOT_FOUND'],
  async handle({ files, params: { key } }) {
    const contentType = imageTypeOfName(key);
    const bytes = contentType ? await files?.read(key) : null;
    if (!contentType || !bytes) throw notFound('FILE', key);
    return answer(bytes, {
      contentType,
      headers: {
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Content-Disposition': 'inline',
      },
    });
  },
});

export const storedFileEndpoints = [listFiles, getFile, deleteFile];
