import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Problem } from '../../../domain/errors.ts';
import { type FormFields, type FormFile, readForm } from './form.ts';

/** The limits of an endpoint that accepts a file. */
export interface UploadLimits {
  /** Maximum size of the file, in bytes. */
  bytesMax: number;
}

/** Bytes for the other parts and the boundaries, in addition to the file. */
export const besideFileBytes = 64 * 1024;

/** A file of a request, in memory. */
export class UploadedFile {
  readonly filename: string;
  /** The type that the client declares; not verified. */
  readonly contentType: string;
  readonly #chunks: Buffer[];

  constructor({ filename, contentType, chunks }: FormFile) {
    this.filename = filename;
    this.contentType = contentType;
    this.#chunks = chunks;
  }

  /** Bytes of the content. */
  get size(): number {
    return this.#chunks.reduce((size, chunk) => size + chunk.length, 0);
  }

  /** Returns the content as one buffer, copied on each call. */
  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Returns the value that represents the file in the hash of the body, for `Idempotency-Key`. */
  toJSON(): object {
    const hash = createHash('sha256');
    for (const chunk of this.#chunks) hash.update(chunk);
    const { filename, contentType } = this;
    return { filename, contentType, sha256: hash.digest('hex') };
  }
}

export const UploadFile = z
  .custom<UploadedFile>()
  .superRefine((value, context) => {
    if (value instanceof UploadedFile) return;
    const message = 'Must be exactly one file.';
    context.addIssue({ code: 'invalid_type', expected: 'file', input: value, message });
  })
  .meta({ type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' });

export function fileTooLarge({ bytesMax }: UploadLimits): Problem {
  return new Problem('FILE_TOO_LARGE', { message: `The file is larger than ${bytesMax} bytes.` });
}

/**
 * Reads an upload form: its texts, and its files as `UploadedFile`, by field name. A repeated name
 * has a list.
 * @throws Problem INVALID_REQUEST_BODY, FILE_TOO_LARGE.
 */
export async function readUpload(
  bytes: Buffer,
  contentType: string,
  { bytesMax }: UploadLimits,
): Promise<Record<string, unknown>> {
  // A missing body is an empty form.
  const fields: FormFields =
    bytes.length === 0
      ? []
      : await readForm(bytes, contentType).catch(() => {
          throw new Problem('INVALID_REQUEST_BODY', {
            message: 'The request body is not a valid form (multipart/form-data).',
          });
        });
  const read = new Map<string, (string | UploadedFile)[]>();
  for (const [name, field] of fields) {
    const value = typeof field === 'string' ? field : new UploadedFile(field);
    if (typeof value !== 'string' && value.size > bytesMax) throw fileTooLarge({ bytesMax });
    read.set(name, [...(read.get(name) ?? []), value]);
  }
  const entries = [...read].map(([name, values]) => [name, values.length > 1 ? values : values[0]]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}
