import { createHash } from 'node:crypto';
import { Problem } from '../../domain/errors.ts';
import { type Answer, answer } from './endpoint.ts';
import { canonicalJson } from './idempotency.ts';

/**
 * Strong entity tags (RFC 9110) of records that two people may edit at the same time. A tag depends
 * only on the editable values, so that an increasing counter does not prevent an edit.
 */

/**
 * Returns the entity tag of a record.
 * @param editable the editable values of the record, as they are stored
 */
export function etagOf(editable: object): string {
  return `"${createHash('sha256').update(canonicalJson(editable)).digest('base64url')}"`;
}

export function tagged<T>(data: T, etag: string): Answer<T> {
  return answer(data, { headers: { ETag: etag } });
}

/** The syntax of a list of entity tags in RFC 9110. */
const tagList = /^[\t ,]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[\t ]*(?:,[\t ,]*|$))+$/;
const oneTag = /(?:W\/)?"[^"]*"/g;

/**
 * Refuses a request whose `If-Match` does not contain the tag. Call it in the transaction of the
 * change, with the record locked. A weak tag never matches.
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
