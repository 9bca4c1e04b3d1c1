import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, type RequestOptions } from 'node:https';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
} from 'node:zlib';

/**
 * Makes one request on a new connection, which is closed after the response. Informational
 * responses (1xx) are skipped, and redirects are not followed.
 * @param options.body null: no body
 * @throws errors of Node.js, and errors that `read` throws
 */
export async function exchange<Read>(
  url: URL,
  { body, ...options }: RequestOptions & { body: string | null },
  read: (answer: IncomingMessage) => Promise<Read>,
): Promise<Read> {
  const ask = url.protocol === 'https:' ? requestHttps : requestHttp;
  // The body is a Buffer, because for a text Node.js would write the headers in the encoding of the
  // body.
  const bytes = body === null ? null : Buffer.from(body);
  const headers = {
    ...(options.headers as Record<string, string>),
    ...(bytes && { 'Content-Length': String(bytes.length) }),
  };
  const request = ask(url, { ...options, headers, agent: false });
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('response', resolve);
      request.on('upgrade', () =>
        reject(
          new Error(
            `${url.host} answered with another protocol than HTTP (101 Switching Protocols).`,
          ),
        ),
      );
      request.on('error', reject);
      request.end(bytes ?? undefined);
    });
    return await read(answer);
  } finally {
    request.destroy();
  }
}

/**
 * Returns the body of a response.
 * @throws Error for a status other than 2xx, and for a body that is too long or cannot be decoded
 */
export async function readSuccess(
  { host }: URL,
  answer: IncomingMessage,
  bytesMax: number,
): Promise<Buffer> {
  const { statusCode = 0 } = answer;
  if (statusCode < 200 || statusCode > 299) throw new Error(`${host} answered ${statusCode}.`);
  const { bytes, isCut } = await readBody(answer, bytesMax);
  if (isCut) {
    throw new Error(`${host} answered more than ${bytesMax} bytes, or with an unknown encoding.`);
  }
  return bytes;
}

/** The beginning of a body. `isCut`: the body is longer, or the rest could not be decoded. */
export interface Body {
  bytes: Buffer;
  isCut: boolean;
}

/** Maximum number of content codings on top of each other; usually there is one. */
const codingsMax = 3;

/**
 * Reads the beginning of a response's body, and removes its content coding: gzip, deflate or br. At
 * most `bytesMax` bytes are read, and at most `bytesMax` bytes are returned. A body with an unknown
 * coding counts as empty.
 * @throws Error when the connection breaks off
 */
export async function readBody(answer: IncomingMessage, bytesMax: number): Promise<Body> {
  let body = await readSent(answer, bytesMax);
  const codings = codingsOf(answer.headers['content-encoding']);
  if (codings.length > codingsMax) return { bytes: Buffer.alloc(0), isCut: false };
  for (const coding of codings.toReversed()) body = await decode(body, coding, bytesMax);
  return body;
}

async function readSent(answer: IncomingMessage, bytesMax: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let room = bytesMax;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
    if (room < 0) break;
  }
  return { bytes: Buffer.concat(chunks), isCut: room < 0 };
}

/**
 * Returns the content codings of a body, in the order in which they were applied (RFC 9110, 8.4).
 */
function codingsOf(header: string | undefined): string[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
}

async function decode(body: Body, coding: string, bytesMax: number): Promise<Body> {
  const { bytes } = body;
  const decoder = decoderOf(coding, bytes);
  if (decoder === null) return { bytes: Buffer.alloc(0), isCut: false };
  const decoded = await inflate(decoder, bytes, bytesMax);
  // Some servers name a coding in the header but send the body without it.
  const isPlain = decoded.isCut && decoded.bytes.length === 0;
  return isPlain ? body : { ...decoded, isCut: decoded.isCut || body.isCut };
}

function decoderOf(coding: string, bytes: Buffer): Transform | null {
  // A body that was cut off lacks the end of its coding, which must not be an error.
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate': {
      // Some servers send raw deflate, without the zlib header that begins with method 8 (RFC
      // 1950).
      const isWrapped = ((bytes[0] ?? 0) & 0x0f) === 8;
      return isWrapped ? createInflate(options) : createInflateRaw(options);
    }
    case 'br':
      return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
    default:
      return null;
  }
}

/** Decodes at most `bytesMax` bytes, because a few compressed bytes can become very many. */
function inflate(decoder: Transform, bytes: Buffer, bytesMax: number): Promise<Body> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const end = (isCut: boolean) => {
      decoder.destroy();
      resolve({ bytes: Buffer.concat(chunks).subarray(0, bytesMax), isCut });
    };
    decoder.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size > bytesMax) end(true);
    });
    decoder.on('end', () => end(false));
    decoder.on('error', () => end(true));
    decoder.end(bytes);
  });
}

/**
 * Decodes a body as text. The encoding is given by the byte order mark, otherwise by the content
 * type, and otherwise is UTF-8. A character that is cut off at the end is left out.
 */
export function textOf({ bytes, isCut }: Body, contentType: string | null): string {
  return textDecoder(bytes, contentType).decode(bytes, { stream: isCut });
}

function textDecoder(bytes: Buffer, contentType: string | null) {
  const mark = bytes.subarray(0, 2).toString('hex');
  if (mark === 'fffe') return new TextDecoder('utf-16le');
  if (mark === 'feff') return new TextDecoder('utf-16be');
  const charset = /;\s*charset\s*=\s*"?([^\s";,]+)/i.exec(contentType ?? '')?.[1];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
