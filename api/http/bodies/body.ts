import { finished } from 'node:stream';
import Bourne from '@hapi/bourne';
import type { Context } from 'koa';
import { invalidField, Problem } from '../../../domain/errors.ts';
import { findLossyNumber, measureJson } from '../../../domain/json-body.ts';
import { forbiddenKey } from '../../../domain/contact/data.ts';
import { limits } from '../../../domain/limits.ts';
import { BodyRoom, type Place } from './body-room.ts';
import type { Access } from '../../access/caller.ts';
import { besideFileBytes, fileTooLarge, type UploadLimits } from './upload.ts';

/** Reads request bodies, and limits their size and their JSON. */

/** The fields of an endpoint's declaration that concern its body. */
interface BodyRules {
  method: string;
  access: Access;
  body?: unknown;
  upload?: UploadLimits;
  bodyBytesMax?: number;
  asSent?: boolean;
}

/** Returns the maximum size of an endpoint's body, in bytes. */
export function bodyBytesMax({ access, upload, bodyBytesMax: own }: BodyRules): number {
  if (upload) return upload.bytesMax + besideFileBytes;
  return own ?? (access === 'open' ? limits.openBodyBytes : limits.jsonBodyBytes);
}

/**
 * Refuses bodies without reading them: too large by Content-Length, compressed, or of an
 * unsupported type.
 * @throws Problem PAYLOAD_TOO_LARGE, FILE_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE.
 */
export function refuseUnreadableBody(ctx: Context, endpoint: BodyRules): void {
  const length = ctx.request.length ?? 0;
  if (length > bodyBytesMax(endpoint)) throw tooLarge(endpoint);
  // A few compressed bytes may expand to gigabytes.
  if (ctx.get('content-encoding') !== '') {
    throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
      message: 'Compressed bodies are not supported.',
      suggestion: 'Send the body uncompressed, without the header Content-Encoding.',
    });
  }
  const hasBody = length > 0 || ctx.get('transfer-encoding') !== '';
  if (!hasBody || endpoint.asSent || !takesBody(endpoint)) return;
  const type = endpoint.upload ? 'multipart/form-data' : 'application/json';
  if (ctx.request.is(type)) return;
  throw new Problem('UNSUPPORTED_MEDIA_TYPE', {
    message: `The body must have the content type ${type}.`,
  });
}

/** Returns true if an endpoint reads the body of its requests. */
export function takesBody({ method, body }: BodyRules): boolean {
  return ['POST', 'PUT', 'PATCH'].includes(method) || !!body;
}

/**
 * Size in bytes up to which a body is not counted, because thousands of bodies of this size fit in
 * memory. A larger body is counted from this size on.
 */
const freeBytes = 64 * 1024;
/**
 * A body that takes longer than `leastMs` is refused unless at least `leastBytes` arrive in each
 * period of `leastMs` (about half a megabit per second).
 */
const leastMs = 15_000;
const leastBytes = 1024 * 1024;
/** The common owner of all bodies without credentials. */
export const anonymous = 'anonymous';

/** The memory for bodies of all endpoints of this process. */
const room = new BodyRoom();

interface Body {
  bytes: Buffer;
  /** Frees the memory of the body. The caller must call it when the request is answered. */
  release: () => void;
}

/**
 * Reads the body up to the endpoint's limit, also without a Content-Length. Large bodies wait for
 * memory of their owner.
 * @param owner the project or user for which the bytes count, or `anonymous`
 * @throws Problem PAYLOAD_TOO_LARGE, FILE_TOO_LARGE; INVALID_REQUEST_BODY when the body is
 * incomplete or arrives too slowly; SERVICE_UNAVAILABLE when there is no memory
 */
export function readBytes(ctx: Context, endpoint: BodyRules, owner: string): Promise<Body> {
  const { req } = ctx;
  const bytesMax = bodyBytesMax(endpoint);
  const isChunked = ctx.get('transfer-encoding') !== '';
  // Without credentials, no memory is reserved, because anyone could make other requests wait.
  const expected = owner === anonymous ? 0 : isChunked ? bytesMax : (ctx.request.length ?? 0);
  const chunks: Buffer[] = [];
  let size = 0;
  let sizeBefore = 0;
  let place: Place | undefined;
  const release = () => place && room.leave(place);
  return new Promise((resolve, reject) => {
    const clock = setInterval(() => {
      if (place?.state === 'waiting') return;
      if (size - sizeBefore < leastBytes) give(tooSlow());
      sizeBefore = size;
    }, leastMs);
    const forget = finished(req, { writable: false }, (error) => {
      if (error) return end(new Problem('INVALID_REQUEST_BODY'));
      if (place) room.complete(place);
      end();
    });
    req.on('data', add);

    function add(chunk: Buffer): void {
      size += chunk.length;
      if (size > bytesMax) {
        // The rest of the body is discarded, but the connection is kept, so that the client gets
        // the error.
        end(tooLarge(endpoint));
        req.resume();
        return;
      }
      chunks.push(chunk);
      if (size <= freeBytes) return;
      place ??= room.enter({ owner, expected, giveWay: give });
      const free = room.take(place, chunk.length);
      if (!free) return;
      req.pause();
      free.then(goOn, give);
    }

    function goOn(): void {
      clock.refresh();
      sizeBefore = size;
      req.resume();
    }

    /** Stops reading. The connection is closed after the response. */
    function give(problem: Problem): void {
      req.pause();
      ctx.set('Connection', 'close');
      end(problem);
    }

    function end(problem?: Problem): void {
      clearInterval(clock);
      forget();
      req.off('data', add);
      const bytes = Buffer.concat(problem ? [] : chunks);
      // The array is emptied, because `release`, which the caller keeps, would keep its content in
      // memory.
      chunks.length = 0;
      if (!problem) return resolve({ bytes, release });
      release();
      reject(problem);
    }
  });
}

function tooSlow(): Problem {
  return new Problem('INVALID_REQUEST_BODY', {
    message: `The request body arrived too slowly: less than 1 MB in ${leastMs / 1000} seconds.`,
    suggestion: 'Repeat the request over a faster connection, or send less at once.',
  });
}

function tooLarge(endpoint: BodyRules): Problem {
  if (endpoint.upload) return fileTooLarge(endpoint.upload);
  const message = `The request body is larger than ${bodyBytesMax(endpoint)} bytes.`;
  return new Problem('PAYLOAD_TOO_LARGE', { message });
}

/**
 * Returns the value of a JSON body; an empty object without a body.
 * @throws Problem INVALID_REQUEST_BODY; VALIDATION_ERROR when the body has too many values or
 * levels, or a number that cannot be stored with all its digits.
 */
export function readJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return {};
  const { depth, items } = measureJson(bytes, limits.jsonItems);
  // Checked before parsing, because a parsed value may take tens of times the memory of its text.
  if (items > limits.jsonItems) {
    const message = `The body has more than ${limits.jsonItems} values. Each object, each list and each value inside them counts. Send less in one request.`;
    throw invalidField('', 'too_big', message);
  }
  const json = new TextDecoder().decode(bytes);
  const body = parse(json);
  if (depth > limits.jsonDepth) {
    const message = `The body is nested too deeply: it has ${depth} levels, but may have at most ${limits.jsonDepth}.`;
    throw invalidField('', 'too_big', message);
  }
  const lossy = findLossyNumber(json);
  if (!lossy) return body;
  const message = 'Has more digits than a JSON number can keep. Send it as text.';
  throw invalidField(lossy.path.join('.'), 'too_big', message);
}

function parse(json: string): unknown {
  try {
    return Bourne.parse(json) as unknown;
  } catch (error) {
    const reason = (error as Error).message;
    throw new Problem('INVALID_REQUEST_BODY', {
      message: reason.includes('forbidden prototype')
        ? `The request body has a key named ${forbiddenKey}, which is not allowed. Rename it.`
        : `The request body is not valid JSON: ${reason.replace(/ is not valid JSON$/, '')}.`,
    });
  }
}
