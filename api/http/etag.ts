import { createHash } from 'node:crypto';
import { Problem } from '../../domain/errors.ts';
import { type Answer, answer } from './endpoint.ts';
import { canonicalJson } from './idempotency.ts';

/**
 * Strong entity tags (RFC 9110) of records that two people may edit at the same time. A tag depends on
 * the editable values alone, so that a counter that goes up does not refuse an edit.
 */

/** @param editable the editable values of a record, as they are stored */
export function etagOf(editable: object): string {
  return `"${createHash('sha256').update(canonicalJson(editable)).digest('base64url')}"`;
}

export function tagged<T>(data: T, etag: string): Answer<T> {
  return answer(data, { headers: { ETag: etag } });
}

/** A list of entity tags, as RFC 9110 writes it. */
const tagList = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))+$/;
const oneTag = /(?:W\/)?"[^"]*"/g;

/**
 * Refuses a request whose `If-Match` has another tag. Call it in the transaction of the change, with the
 * record locked. A weak tag matches no record.
 * @throws Problem PRECONDITION_FAILED
 */
export function requireMatch({ ifMatch }: { ifMatch: string | undefined }, etag: string): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  const details = { etag };
  if (!tagList.test(ifMatch)) {
    const message = `If-Match is not a list of ETags: ${ifMatch.slice(0, 100)}`;
    const suggestion = 'Send the ETag of a response as it is, with its quotes.';
    throw new Problem('PRECONDITION_FAILED', { message, suggestion, details });
  }
  if (ifMatch.match(oneTag)?.includes(etag)) return;
  throw new Problem('PRECONDITION_FAILED', { details });
}
