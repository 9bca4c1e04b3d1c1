import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { AnyEndpoint } from './endpoint.ts';
import type { StoredAnswer } from './idempotency.ts';

/** Sends responses, as a whole or while they are generated. */

/** Returns the endpoint's usual response. */
export function jsonAnswer(
  endpoint: AnyEndpoint,
  answered: unknown,
  status = endpoint.status ?? 200,
): StoredAnswer {
  const data: unknown = endpoint.response.parse(answered);
  const shown = endpoint.wrapped ? { success: true, data } : data;
  return { status, text: status === 204 ? '' : JSON.stringify(shown) };
}

/**
 * Returns the text of a list that is read in parts.
 * @param empty the response with an empty list. The first `[]` in this text must be the list.
 */
export function joined(
  empty: string,
  parts: AsyncIterable<unknown>,
  present: (part: unknown) => string,
): Readable {
  const at = empty.indexOf('[]') + 1;
  async function* text() {
    let before = empty.slice(0, at);
    for await (const part of parts) {
      const items = present(part).slice(at, at - empty.length);
      if (items === '') continue;
      yield before + items;
      before = ',';
    }
    yield (before === ',' ? '' : before) + empty.slice(at);
  }
  // In object mode, Node would read up to 16 parts ahead. Without object mode, Node reads no further
  // part while enough bytes wait for the client.
  return Readable.from(text(), { objectMode: false });
}

/** Milliseconds after which a client that does not read counts as stopped. */
const stalledMs = 5_000;
/** Number of bytes of a text that the client must read within `stalledMs`. */
const pieceBytes = 64 * 1024;

/**
 * Streams a text as fast as the client reads it. The stream ends with an error when the client does
 * not read for `stalledMs`, or when `signal` is aborted, because the text may keep a database
 * connection open.
 * @throws Problem of the first part, before the status is sent
 */
export async function streamed(
  text: AsyncGenerator<string, void, undefined>,
  signal: AbortSignal | undefined,
): Promise<Readable> {
  const first = await text.next();
  async function* pieces() {
    for (let part = first; !part.done; part = await text.next()) {
      const bytes = Buffer.from(part.value);
      for (let at = 0; at < bytes.length; at += pieceBytes) {
        const clock = setTimeout(
          () => stream.destroy(new Error('The client has stopped reading.')),
          stalledMs,
        );
        try {
          yield bytes.subarray(at, at + pieceBytes);
        } finally {
          clearTimeout(clock);
        }
      }
    }
  }
  const stream = Readable.from(pieces(), { objectMode: false });
  signal?.addEventListener('abort', () =>
    stream.destroy(
      new Error(
        'The response was cut off, because its client reads slowly and another request needed the database connection.',
      ),
    ),
  );
  // Ends the text even if the client has read none of it, as for HEAD.
  stream.once('close', () => void text.return().catch(() => {}));
  return stream;
}

export function send(ctx: Context, { status, text, bytes, stream }: StoredAnswer): void {
  if (status === 204 || status === 302 || status === 303) {
    // Koa sets the status 204 for a body that is null.
    ctx.body = null;
    ctx.status = status;
    return;
  }
  ctx.status = status;
  if (!ctx.type) ctx.type = 'application/json';
  if (ctx.type === 'application/json' && !ctx.response.get('cache-control')) {
    ctx.set('Cache-Control', 'no-store');
  }
  ctx.body = stream ?? bytes ?? text;
  // The status was already sent, so the connection is closed, and the client gets an incomplete
  // response.
  stream?.once('error', () => ctx.res.destroy());
}
