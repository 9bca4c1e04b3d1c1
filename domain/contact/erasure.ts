import { lowerAscii } from '../email-address.ts';

/** Kinds of data that an erasure removes, in the order in which the receipt lists them. */
export const erasureCounts = [
  'contact',
  'events',
  'emails',
  'executions',
  'memberships',
  'topics',
  'consent',
  'attachments',
  'mailbox',
  'otherEmails',
  'jobErrors',
  'idempotency',
  'deliveries',
  'suppression',
] as const;

export type ErasureCounts = Record<(typeof erasureCounts)[number], number>;

/** The text that replaces an erased address in rows that must stay. */
export const erasedAddress = 'erased@erased.invalid';

/** Returns the counts of all kinds, in the order of the receipt. */
export function allCounts(counts: Partial<ErasureCounts>): ErasureCounts {
  return Object.fromEntries(erasureCounts.map((key) => [key, counts[key] ?? 0])) as ErasureCounts;
}

/**
 * Returns the text of an erasure's receipt: the SHA-256 of this text is the receipt's hash. Times
 * are in ISO 8601.
 */
export function receiptText(receipt: {
  id: string;
  requestedAt: string;
  at: string;
  counts: ErasureCounts;
}): string {
  const { id, requestedAt, at, counts } = receipt;
  return JSON.stringify({ id, requestedAt, at, counts: allCounts(counts) });
}

/**
 * Characters that can stand directly before or after an address in a longer address. A match beside
 * such a character is a part of a longer address and stays.
 */
const before = /[a-z0-9.!#$%&'*+/=?^_`{|}~-]/;
const after = /[a-z0-9-]/;

/**
 * Replaces each occurrence of an address by `erasedAddress`, in upper or lower case. Longer
 * addresses that contain this address stay.
 * @param address in its stored form
 */
export function withoutAddress(text: string, address: string): string {
  // `lower` has the same length as `text`, because only ASCII letters change.
  const lower = lowerAscii(text);
  let result = '';
  let end = 0;
  for (let at = lower.indexOf(address); at >= 0; at = lower.indexOf(address, at + 1)) {
    const next = at + address.length;
    const goesOn = after.test(lower[next] ?? '') || /^\.[a-z0-9]/.test(lower.slice(next, next + 2));
    if (goesOn || before.test(lower[at - 1] ?? '')) continue;
    result += text.slice(end, at) + erasedAddress;
    end = next;
  }
  return result + text.slice(end);
}

/** Replaces an address in all texts and keys of a JSON value, as `withoutAddress` does. */
export function valueWithoutAddress(value: unknown, address: string): unknown {
  if (typeof value === 'string') return withoutAddress(value, address);
  if (Array.isArray(value)) return value.map((item) => valueWithoutAddress(item, address));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      withoutAddress(key, address),
      valueWithoutAddress(item, address),
    ]),
  );
}
