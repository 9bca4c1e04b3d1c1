import { lowerAscii } from '../email-address.ts';

/** Kinds of data that an erasure removes, in the order of its receipt. */
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

/** Replacement for an erased address in rows that must stay. */
export const erasedAddress = 'erased@erased.invalid';

/** Returns the counts with all keys, in the order of the receipt. */
export function allCounts(counts: Partial<ErasureCounts>): ErasureCounts {
  return Object.fromEntries(erasureCounts.map((key) => [key, counts[key] ?? 0])) as ErasureCounts;
}

/** Returns the text whose SHA-256 is the hash of a receipt. Times are ISO 8601. */
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
 * Characters that continue an address to the left and to the right, so that a longer address is not
 * matched.
 */
const before = /[a-z0-9.!#$%&'*+/=?^_`{|}~-]/;
const after = /[a-z0-9-]/;

/**
 * Replaces an address in a text by `erasedAddress`, whether in upper or lower case. Longer addresses
 * that contain it stay as they are.
 * @param address in its stored form
 */
export function withoutAddress(text: string, address: string): string {
  // `lower` is as long as `text`, because only ASCII letters change.
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

/** Replaces an address in all texts of a JSON value, including keys, as `withoutAddress` does. */
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
