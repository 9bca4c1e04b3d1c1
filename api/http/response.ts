import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { AnyEndpoint } from './endpoint.ts';
import type { StoredAnswer } from './idempotency.ts';

/** Responses, as a whole or written while they are made. */

/** The endpoint's usual response. */
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
 * The text of a list that is read in parts.
 * @param empty the response with an empty list, its first `[]`.
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
  // Bytes, not objects: the next part is read when the client has taken the one before.
  return Readable.from(text(), { objectMode: false });
}

/** How long a client may take nothing of a text that is being made, in milliseconds. */
const stalledMs = 5_000;
/** Bytes of a text that a client has this time for. */
const pieceBytes = 64 * 1024;

/**
 * Text that is sent as it is made, as fast as the client takes it: it may hold a connection of the
 * database. Ends with an error when the client takes nothing for too long, or `signal` is aborted.
 * @throws Problem of the first part: no status has been sent by then
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
        const clock = setTimeout(() => stream.destroy(new Error('It is not read.')), stalledMs);
        try {
          yield bytes.subarray(at, at + pieceBytes);
        } finally {
          clearTimeout(clock);
        }
      }
    }
  }
  const stream = Readable.from(pieces(), { objectMode: false });
  signal?.addEventListener('abort', () => stream.destroy(new Error('It had to give way.')));
  // Also where nothing was read of it, as for HEAD.
  stream.once('close', () => void text.return().catch(() => {}));
  return stream;
}

/** Sends the response of a handler. */
export function send(ctx: Context, { status, text, bytes, stream }: StoredAnswer): void {
  ctx.status = status;
  if (status === 204 || status === 302 || status === 303) {
    ctx.body = null;
    ctx.status = status;
    return;
  }
  if (!ctx.type) ctx.type = 'application/json';
  if (ctx.type === 'application/json' && !ctx.response.get('cache-control')) {
    ctx.set('Cache-Control', 'no-store');
  }
  ctx.body = stream ?? bytes ?? text;
  // Too late for another status: the client sees that the response breaks off.
  stream?.once('error', () => ctx.res.destroy());
}
