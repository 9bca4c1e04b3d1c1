import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import {
  abandonUpload,
  listUnfinishedUploads,
  recordUploaded,
  reserveUpload,
} from '../../db/projects/uploads.ts';
import type { Files } from '../../providers/files.ts';
import { projectExists } from '../../db/projects/projects.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { imageTypeOf, imageTypes, isImageType } from '../../domain/upload/image-type.ts';
import { limits } from '../../domain/limits.ts';
import { answer, endpoint } from '../http/endpoint.ts';
import { fault } from '../http/schemas.ts';
import { UploadFile } from '../http/bodies/upload.ts';

const key = '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01/4b1f0a77-8d0a-4e3c-9a31-5b6c7d8e9fa2.png';

const uploadImage = endpoint({
  id: 'uploadImage',
  method: 'POST',
  path: '/uploads/image',
  summary: 'Upload an image for mails; it is public to anyone who has its URL',
  description:
    'One PNG, JPEG, GIF or WebP of at most 10 MB in the field `image`. FILE_CONTENT_MISMATCH: ' +
    'the bytes are not of the declared type. UPLOADS_DISABLED: the server has no storage. ' +
    'UPLOAD_QUOTA_EXCEEDED: all files of the project together would take more than `UPLOAD_QUOTA_MB`; ' +
    '`details` has `limit` and `used`, in bytes.',
  access: 'secret',
  upload: { bytesMax: limits.imageBytes },
  unavailable: (config) => (config.storage.driver === 'none' ? 'UPLOADS_DISABLED' : null),
  body: z.object({
    image: z
      .preprocess(
        (value) => value ?? null,
        z.custom<z.output<typeof UploadFile>>(
          (value) => UploadFile.safeParse(value).success,
          fault('required', 'Send one image in the field `image`.'),
        ),
      )
      .meta({ type: 'string', format: 'binary', contentMediaType: 'image/*' }),
  }),
  response: z.object({
    url: z.string(),
    key: z.string(),
    filename: z.string(),
    contentType: z.enum(Object.keys(imageTypes) as [keyof typeof imageTypes]),
    size: z.int().meta({ description: 'Bytes' }),
  }),
  problems: [
    'FILE_TOO_LARGE',
    'UPLOAD_QUOTA_EXCEEDED',
    'UNSUPPORTED_MEDIA_TYPE',
    'FILE_CONTENT_MISMATCH',
    'UPLOADS_DISABLED',
  ],
  example: {
    response: {
      url: `https://files.shop.example/${key}`,
      key,
      filename: 'logo.png',
      contentType: 'image/png',
      size: 20_480,
    },
  },
  async handle({ db, config, files, caller, body: { image } }) {
    const contentType = image.contentType.toLowerCase();
    if (!isImageType(contentType)) {
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
        message: `Send the image as one of ${Object.keys(imageTypes).join(', ')}.`,
        suggestion: 'Convert the image, or send it with its real content type.',
      });
    }
    const bytes = image.bytes();
    const realType = imageTypeOf(bytes);
    if (realType !== contentType) {
      const real = realType ? `, but ${realType}` : '';
      const message = `The content of the file is not ${contentType}${real}.`;
      throw new Problem('FILE_CONTENT_MISMATCH', { message });
    }
    if (!files) throw new Problem('UPLOADS_DISABLED');
    // The key does not contain the client's file name, which is only returned.
    const { publicId } = caller.project;
    const key = `${publicId}/${randomUUID()}.${imageTypes[contentType]}`;
    await removeUnfinished(db, files, publicId);
    const limit = config.uploadQuotaBytes;
    const full = await reserveUpload(db, caller, { key, bytes: bytes.length, limit });
    if (full) throw new Problem('UPLOAD_QUOTA_EXCEEDED', { details: { limit, ...full } });
    try {
      await files.put(key, { bytes, contentType });
    } catch (error) {
      // If the storage does not respond, the file uses the quota until `removeUnfinished`.
      await files.remove(key).then(
        () => abandonUpload(db, key),
        () => {},
      );
      throw error;
    }
    await recordUploaded(db, key);
    // If the project was deleted meanwhile, its files may have been removed before this one was
    // stored.
    if (!(await projectExists(db, publicId))) {
      await files.removeFolder(publicId);
      throw notFound('PROJECT', publicId);
    }
    const { filename } = image;
    return { url: files.urlOf(key), key, filename, contentType, size: bytes.length };
  },
});

const contentTypes = Object.fromEntries(
  Object.entries(imageTypes).map(([type, extension]) => [extension, type]),
);

/**
 * Maximum number of unfinished files that one request removes. A file is unfinished if the process
 * died, or the storage did not respond, while the file was being stored.
 */
const unfinishedMax = 10;

/** Removes unfinished files, which would otherwise use the quota for ever. */
async function removeUnfinished(db: Database, files: Files, publicId: string): Promise<void> {
  for (const key of await listUnfinishedUploads(db, publicId, unfinishedMax)) {
    await files.remove(key);
    await abandonUpload(db, key);
  }
}

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
  async handle({ files, params }) {
    const contentType = contentTypes[params.key.split('.').at(-1) ?? ''];
    const bytes = contentType ? await files?.read(params.key) : null;
    if (!contentType || !bytes) throw notFound('FILE', params.key);
    return answer(bytes, {
      contentType,
      headers: {
        'Cache-Control': 'public, max-age=31536000, immutable',
        'Content-Disposition': 'inline',
      },
    });
  },
});

export const uploadEndpoints = [uploadImage, getFile];
