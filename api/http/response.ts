import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Caller } from '../access/caller.ts';
import type { AnyEndpoint } from './endpoint.ts';
import type { StoredAnswer } from './idempotency.ts';

/** Responses, as a whole or written while they are made. */

/** The endpoint's usual response. */
export function jsonAnswer(
  endpoint: AnyEndpoint,
  caller: Caller,
  answered: unknown,
  status = endpoint.status ?? 200,
): StoredAnswer {
  const data: unknown = endpoint.response.parse(answered);
  const shown = endpoint.wrapped ? { success: true, data } : data;
  return { status, text: status === 204 ? '' : outsideIds(JSON.stringify(shown), caller) };
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

/** Text that is sent as it comes, as fast as the client takes it. */
export function streamed(text: AsyncIterable<string>, caller: Caller): Readable {
  async function* shown() {
    for await (const part of text) yield outsideIds(part, caller);
  }
  return Readable.from(shown(), { objectMode: false });
}

/** A reset project keeps its public id, while its rows get another one. */
function outsideIds(text: string, caller: Caller): string {
  const projects = caller?.kind === 'project' ? [caller.project] : (caller?.projects ?? []);
  return projects.reduce(
    (shown, { id, publicId }) =>
      id === publicId ? shown : shown.replaceAll(`"${id}"`, `"${publicId}"`),
    text,
  );
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
