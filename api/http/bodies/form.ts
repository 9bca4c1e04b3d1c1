import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';

/** A file of a form, in memory. */
export interface FormFile {
  filename: string;
  /** The type that the client declares; not verified. */
  contentType: string;
  chunks: Buffer[];
}

/** The fields of a form, in the order sent. */
export type FormFields = [name: string, value: string | FormFile][];

/** Maximum number of fields and files in one form. */
const partsMax = 40;
/**
 * Number of bytes that are parsed at once. The number is small, so that too many parts are noticed
 * early.
 */
const pieceBytes = 1024;
/** Maximum number of bytes of the header of one part: its name, its file name and its type. */
const headBytesMax = 8 * 1024;

/**
 * Reads a form, multipart or urlencoded; any other content type is read as urlencoded.
 * @throws Error when a multipart form is malformed, incomplete, or has too many or too long parts.
 */
export async function readForm(bytes: Buffer, contentType: string): Promise<FormFields> {
  if (!/^multipart\//i.test(contentType)) {
    return [...new URLSearchParams(bytes.toString('utf8'))];
  }
  const fields: FormFields = [];
  const parser = new Busboy({
    headers: { 'content-type': contentType },
    preservePath: true,
    limits: { parts: partsMax, headerSize: headBytesMax, fieldSize: bytes.length },
  });
  const add = (name: string | undefined, value: string | FormFile) => {
    if (name !== undefined) fields.push([name, value]);
  };
  parser.on('field', (name, value) => add(name, value));
  parser.on('file', (name, stream, filename: string | undefined, _encoding, contentType) => {
    const chunks: Buffer[] = [];
    add(name, { filename: filename ?? '', contentType, chunks });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A form that ends within a file fails here.
    stream.on('error', (error) => parser.destroy(error));
  });
  parser.on('partsLimit', () => parser.destroy(new Error('The form has too many parts.')));
  await pipeline(Readable.from(piecesOf(bytes)), parser);
  return fields;
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
