import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { type ExtendedFormidableOptions, koaBody } from 'koa-body';
import type { Context } from 'koa';
import { z } from 'zod';
import { Problem } from '../domain/errors.ts';

/** What an endpoint takes that takes a file. */
export interface UploadLimits {
  /** Bytes of the file, at most. */
  bytesMax: number;
}

/** Parts beside the file, and the lines between the parts: what the whole body may have more. */
const besideFileBytes = 64 * 1024;

/** A file of a request, in memory. */
export class UploadedFile {
  readonly filename: string;
  /** As the sender says it; nobody has looked. */
  readonly contentType: string;
  readonly #chunks: Buffer[];

  constructor(filename: string, contentType: string, chunks: Buffer[]) {
    this.filename = filename;
    this.contentType = contentType;
    this.#chunks = chunks;
  }

  /** The content, put together anew by each call. */
  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** What stands for the file where requests are compared. */
  toJSON(): object {
    const hash = createHash('sha256');
    for (const chunk of this.#chunks) hash.update(chunk);
    const { filename, contentType } = this;
    return { filename, contentType, sha256: hash.digest('hex') };
  }
}

/** A part of the body that is a file. */
export const UploadFile = z
  .custom<UploadedFile>()
  .superRefine((value, context) => {
    if (value instanceof UploadedFile) return;
    const message = 'Must be one file.';
    context.addIssue({ code: 'invalid_type', expected: 'file', input: value, message });
  })
  .meta({ type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' });

/**
 * Refuses a body that is too large by its own word or is no form, before anything of it is read.
 * @throws Problem FILE_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE.
 */
export function refuseUnreadableUpload(ctx: Context, { bytesMax }: UploadLimits): void {
  const length = ctx.request.length ?? 0;
  if (length > bytesMax + besideFileBytes) throw new Problem('FILE_TOO_LARGE');
  const hasBody = length > 0 || ctx.get('transfer-encoding') !== '';
  if (hasBody && !ctx.request.is('multipart/form-data')) {
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Send the body as multipart/form-data.',
    });
  }
}

/**
 * Reads a form: its texts, and its files as `UploadedFile`, by the name of their field.
 * @throws Problem INVALID_REQUEST_BODY, FILE_TOO_LARGE.
 */
export async function readUpload(ctx: Context, { bytesMax }: UploadLimits): Promise<unknown> {
  const contents = new Map<unknown, Buffer[]>();
  const formidable: ExtendedFormidableOptions & { minFileSize: number } = {
    allowEmptyFiles: true,
    minFileSize: 0,
    maxFileSize: bytesMax,
    maxFields: 20,
    maxFieldsSize: besideFileBytes,
    onPart(part, handle) {
      // What has a name of its own is a file, also without a type.
      if (part.originalFilename !== null) part.mimetype ??= 'application/octet-stream';
      handle(part);
    },
    // Nothing touches the disk: the machine that goes on with the file may be another one.
    fileWriteStreamHandler(file?: unknown) {
      const chunks: Buffer[] = [];
      contents.set(file, chunks);
      return new Writable({
        write(chunk: Buffer, _encoding, done) {
          chunks.push(chunk);
          done();
        },
      });
    },
  };
  const parse = koaBody({
    json: false,
    text: false,
    urlencoded: false,
    multipart: true,
    formidable,
  });
  try {
    await parse(ctx, async () => {});
  } catch (error) {
    const isTooLarge = (error as { httpCode?: number }).httpCode === 413;
    throw new Problem(isTooLarge ? 'FILE_TOO_LARGE' : 'INVALID_REQUEST_BODY');
  }
  const files = Object.entries(ctx.request.files ?? {}).map(([field, parts]) => {
    const uploaded = [parts]
      .flat()
      .map(
        (file) =>
          new UploadedFile(
            file.originalFilename ?? '',
            file.mimetype ?? '',
            contents.get(file) ?? [],
          ),
      );
    return [field, uploaded.length === 1 ? uploaded[0] : uploaded] as const;
  });
  return { ...(ctx.request.body as object | undefined), ...Object.fromEntries(files) };
}
