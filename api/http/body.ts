import Bourne from '@hapi/bourne';
import type { Context } from 'koa';
import { invalidField, Problem } from '../../domain/errors.ts';
import { findLossyNumber, measureJson } from '../../domain/json-body.ts';
import { limits } from '../../domain/limits.ts';
import type { AnyEndpoint } from './endpoint.ts';
import { besideFileBytes } from './upload.ts';

/** Request bodies: how much is read, and what JSON they may contain. */

/** Largest body an endpoint accepts, in bytes. */
export function bodyBytesMax({ access, upload, bodyBytesMax: own }: AnyEndpoint): number {
  if (upload) return upload.bytesMax + besideFileBytes;
  return own ?? (access === 'open' ? limits.openBodyBytes : limits.jsonBodyBytes);
}

/**
 * Rejects bodies that need not be read: too large by Content-Length, compressed, or of an
 * unsupported type.
 * @throws Problem PAYLOAD_TOO_LARGE, FILE_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE.
 */
export function refuseUnreadableBody(ctx: Context, endpoint: AnyEndpoint): void {
  const length = ctx.request.length ?? 0;
  if (length > bodyBytesMax(endpoint)) throw tooLarge(endpoint);
  // A few compressed bytes may expand to gigabytes.
  if (ctx.get('content-encoding') !== '') {
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Send the body as it is, without Content-Encoding.',
    });
  }
  const hasBody = length > 0 || ctx.get('transfer-encoding') !== '';
  if (!hasBody || endpoint.asSent || !takesBody(endpoint)) return;
  const type = endpoint.upload ? 'multipart/form-data' : 'application/json';
  if (ctx.request.is(type)) return;
  throw new Problem('UNSUPPORTED_MEDIA_TYPE', { message: `Send the body as ${type}.` });
}

/** Whether the body of a request is read at all. */
export function takesBody({ method, body }: AnyEndpoint): boolean {
  return ['POST', 'PUT', 'PATCH'].includes(method) || !!body;
}

/**
 * Reads the body up to the endpoint's limit, also without a Content-Length.
 * @throws Problem PAYLOAD_TOO_LARGE, FILE_TOO_LARGE; INVALID_REQUEST_BODY when it breaks off.
 */
export async function readBytes({ req }: Context, endpoint: AnyEndpoint): Promise<Buffer> {
  const bytesMax = bodyBytesMax(endpoint);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    // Keep the connection, so that the client gets the error.
    for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > bytesMax) break;
      chunks.push(chunk);
    }
  } catch {
    throw new Problem('INVALID_REQUEST_BODY');
  }
  if (size <= bytesMax) return Buffer.concat(chunks, size);
  // Discards the rest of the body, so that it does not block the next request.
  req.resume();
  throw tooLarge(endpoint);
}

/**
 * Bytes of bodies that are under way at once: enough for two of the largest. Each is in memory up to
 * six times: as it came, joined, as text, parsed, decoded, and on its way to the database.
 */
const bytesAtOnce = 2 * limits.sendBodyBytes;
/** Bodies that do not count, in bytes: they would fit in the thousands. */
const smallBytes = 64 * 1024;
/** How long a request waits until its body is read, in milliseconds. */
const budgetWaitMs = 10_000;

/**
 * Divides the memory for large bodies between projects. As with connections (`Shares`), one takes
 * more only if as much stays free as it then holds, but the first body always has its turn.
 */
export class BodyBudget {
  #free = bytesAtOnce;
  readonly #held = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>();

  /**
   * Waits until the body of a request may be read. Returns the function that gives its memory back.
   * @param owner the project, or whoever else the bytes are counted for
   * @throws Problem SERVICE_UNAVAILABLE when that takes too long
   */
  async acquire(owner: string, ctx: Context, endpoint: AnyEndpoint): Promise<() => void> {
    const isChunked = ctx.get('transfer-encoding') !== '';
    const bytes = isChunked ? bodyBytesMax(endpoint) : (ctx.request.length ?? 0);
    if (bytes <= smallBytes) return () => {};
    const take = () => {
      const held = this.#held.get(owner) ?? 0;
      const left = this.#free - bytes;
      if (left < 0 || (held > 0 && held + bytes > left)) return false;
      this.#free = left;
      this.#held.set(owner, held + bytes);
      return true;
    };
    if (!take()) await this.#turn(take);
    return () => {
      const held = (this.#held.get(owner) ?? 0) - bytes;
      if (held > 0) this.#held.set(owner, held);
      else this.#held.delete(owner);
      this.#free += bytes;
      for (const next of this.#waiting) next();
    };
  }

  #turn(take: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        if (!take()) return;
        clearTimeout(timer);
        this.#waiting.delete(next);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(next);
        const message = 'Too many large requests are under way.';
        reject(new Problem('SERVICE_UNAVAILABLE', { message }));
      }, budgetWaitMs);
      this.#waiting.add(next);
    });
  }
}

function tooLarge({ upload }: AnyEndpoint): Problem {
  return new Problem(upload ? 'FILE_TOO_LARGE' : 'PAYLOAD_TOO_LARGE');
}

/**
 * The value of a JSON body; an empty object without a body.
 * @throws Problem INVALID_REQUEST_BODY; VALIDATION_ERROR when it could not be stored as it was
 *   sent.
 */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  const { depth, items } = measureJson(bytes, limits.jsonItems);
  // Before parsing: each item takes tens of bytes of memory per byte of text.
  if (items > limits.jsonItems) {
    const message = `A body holds at most ${limits.jsonItems} values, in objects and lists together.`;
    throw invalidField('', 'too_big', message);
  }
  const json = new TextDecoder().decode(bytes);
  const body = parse(json);
  if (depth > limits.jsonDepth) {
    const message = `Objects and lists nest at most ${limits.jsonDepth} deep.`;
    throw invalidField('', 'too_big', message);
  }
  const lossy = findLossyNumber(json);
  if (!lossy) return body;
  const message = 'Has more digits than a number keeps: send it as text.';
  throw invalidField(lossy.path.join('.'), 'too_big', message);
}

function parse(json: string): unknown {
  try {
    return Bourne.parse(json) as unknown;
  } catch (error) {
    const isForbidden = (error as Error).message.includes('forbidden prototype');
    throw new Problem('INVALID_REQUEST_BODY', {
      message: isForbidden
        ? 'The request body holds a key named __proto__, which is not taken.'
        : 'The request body is not valid JSON.',
    });
  }
}
