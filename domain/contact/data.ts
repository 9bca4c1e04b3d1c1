import { limits } from '../limits.ts';

export interface ContactDataChange {
  set: Record<string, unknown>;
  remove: string[];
  /** Values that only this request uses; they override stored values. */
  oneTime: Record<string, unknown>;
}

/** Keys that the system itself sets; in contact data they are silently dropped. */
export const reservedDataKeys: ReadonlySet<string> = new Set([
  'id',
  'svc_id',
  'svc_email',
  'email',
  'unsubscribeUrl',
  'subscribeUrl',
  'manageUrl',
]);

/**
 * Plans the merge of `given` into a contact's data. null removes a key; empty strings and reserved
 * keys are skipped. A value in `{value, persistent: false}` counts only for this request. Every
 * other value is stored, also one in `{value, persistent: true}`.
 */
export function planContactData(
  given: Record<string, unknown> | null | undefined,
): ContactDataChange {
  const set = new Map<string, unknown>();
  const remove: string[] = [];
  const oneTime = new Map<string, unknown>();
  for (const [key, raw] of Object.entries(given ?? {})) {
    if (reservedDataKeys.has(key)) continue;
    const wrapped = persistentWrapper(raw);
    if (wrapped && !wrapped.persistent) {
      oneTime.set(key, wrapped.value);
      continue;
    }
    const value = wrapped ? wrapped.value : raw;
    if (value === null || value === undefined) remove.push(key);
    else if (value !== '') set.set(key, value);
  }
  // Object.fromEntries defines own properties, so `__proto__` stays an ordinary key.
  return { set: Object.fromEntries(set), remove, oneTime: Object.fromEntries(oneTime) };
}

/**
 * Returns the data that an event stores: the data as sent, with the plain value in place of each
 * `{value, persistent}`.
 */
export function eventData(
  given: Record<string, unknown> | null | undefined,
): Record<string, unknown> | null {
  if (!given) return null;
  return Object.fromEntries(
    Object.entries(given).map(([key, raw]) => {
      const wrapped = persistentWrapper(raw);
      return [key, wrapped && !wrapped.persistent ? wrapped.value : raw];
    }),
  );
}

/**
 * A key that JSON and files must not contain, because programs may read it as the prototype of an
 * object.
 */
export const forbiddenKey = '__proto__';

/**
 * Returns the first limit that the data of a contact exceed, as a sentence; null: they exceed none.
 */
export function contactDataFault(
  data: Record<string, unknown> | null,
  contact = 'A contact',
): string | null {
  if (!data) return null;
  const keys = Object.keys(data);
  if (keys.length > limits.contactDataKeys) {
    return `${contact} must have at most ${limits.contactDataKeys} data keys, not ${keys.length}.`;
  }
  const wrong = keys.find((key) => key.length < 1 || key.length > limits.contactDataKeyChars);
  if (wrong !== undefined) {
    const max = limits.contactDataKeyChars;
    return `A data key must have 1 to ${max} characters; "${wrong.slice(0, 20)}…" has ${wrong.length}.`;
  }
  const bytes = jsonBytes(data);
  if (bytes > limits.contactDataBytes) {
    return `${contact} must have at most ${limits.contactDataBytes} bytes of data as JSON, not ${bytes}.`;
  }
  return null;
}

// oxlint-disable-next-line no-control-regex
const ascii = /^[\0-\x7f]*$/;

/** Returns the length of a value as JSON, in bytes of UTF-8. */
export function jsonBytes(value: unknown): number {
  const text = JSON.stringify(value) ?? '';
  return ascii.test(text) ? text.length : new TextEncoder().encode(text).length;
}

/** Returns the value and flag of an object `{value, persistent}`; null: `raw` is no such object. */
export function persistentWrapper(raw: unknown): { value: unknown; persistent: boolean } | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return null;
  if (!Object.hasOwn(raw, 'persistent') || !Object.hasOwn(raw, 'value')) return null;
  const { value, persistent } = raw as { value: unknown; persistent: unknown };
  return typeof persistent === 'boolean' ? { value, persistent } : null;
}
