import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { forgetUpload, recordUploaded, reserveUpload } from '../../db/projects/uploads.ts';
import { projectExists } from '../../db/projects/projects.ts';
import { notFound, Problem } from '../../domain/errors.ts';
import { imageTypeOf, imageTypes, isImageType } from '../../domain/upload/image-type.ts';
import { limits } from '../../domain/limits.ts';
import { actorOf } from '../access/caller.ts';
import { endpoint } from '../http/endpoint.ts';
import { fault } from '../http/schemas.ts';
import { UploadFile } from '../http/bodies/upload.ts';
import { storedFileEndpoints } from './files.ts';
import { storedFileExample, uploadsOff } from './record.ts';

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
  unavailable: uploadsOff,
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
      url: storedFileExample.url,
      key: storedFileExample.key,
      filename: 'logo.png',
      contentType: storedFileExample.contentType,
      size: storedFileExample.size,
    },
  },
  async handle({ db, config, files, caller, body: { image } }) {
    const contentType = image.contentType.toLowerCase();
    if (!isImageType(contentType)) {
      throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
        message: `The content type of the image must be one of ${Object.keys(imageTypes).join(', ')}; it is ${contentType || 'missing'}.`,
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
    // The key does not contain the file name of the client. Only the response contains this name.
    const { publicId } = caller.project;
    const key = `${publicId}/${randomUUID()}.${imageTypes[contentType]}`;
    const limit = config.uploadQuotaBytes;
    const reserved = { key, bytes: bytes.length, createdBy: actorOf(caller), limit };
    const full = await reserveUpload(db, caller, reserved);
    if (full) throw new Problem('UPLOAD_QUOTA_EXCEEDED', { details: { limit, ...full } });
    try {
      await files.put(key, { bytes, contentType });
    } catch (error) {
      // If the storage does not respond, the file counts against the quota until the periodic sweep
      // deletes it.
      await files.remove(key).then(
        () => forgetUpload(db, key),
        () => {},
      );
      throw error;
    }
    const isRecorded = await recordUploaded(db, key);
    // If the project was deleted in the meantime, its files may have been deleted before this file
    // was stored.
    if (!(await projectExists(db, publicId))) {
      await files.removeFolder(publicId);
      throw notFound('PROJECT', publicId);
    }
    if (!isRecorded) {
      await files.remove(key);
      throw new Problem('SERVICE_UNAVAILABLE', { message: 'Storing the file took too long.' });
    }
    const { filename } = image;
    return { url: files.urlOf(key), key, filename, contentType, size: bytes.length };
  },
});

export const uploadEndpoints = [uploadImage, ...storedFileEndpoints];
