import { readPath } from '../filter/value.ts';
import { limits } from '../limits.ts';

/**
 * Rules about starts of executions: which key an execution gets, and when a contact may start
 * again.
 */

export const reentryModes = ['once', 'after_end', 'parallel'] as const;

/** When a contact may enter a workflow more than once. */
export interface Reentry {
  /**
   * `once`: never; `after_end`: while no execution is active; `parallel`: always, up to a limit.
   * With execution keys, each key is considered separately.
   */
  mode: (typeof reentryModes)[number];
  /** Minimum number of seconds between two starts; null: none. */
  minIntervalSeconds: number | null;
}

/** Reasons why an event starts no execution. They are stored, and customers see them. */
export const notStartedReasons = ['no_key', 'key_too_long', 'too_many'] as const;
export type NotStartedReason = (typeof notStartedReasons)[number];

export type KeyFault = Extract<NotStartedReason, 'no_key' | 'key_too_long'>;

/** The key of an execution (null: the workflow has no keys), or why no valid key was found. */
export type StartKey = { key: string | null } | { fault: KeyFault };

/**
 * Returns a value as an execution key: text stays, numbers and booleans become JSON. So `1` and
 * `"1"` are the same key.
 */
export function keyOf(value: unknown): { key: string } | { fault: KeyFault } {
  const text =
    typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : value;
  if (typeof text !== 'string' || text === '') return { fault: 'no_key' };
  return text.length > limits.executionKeyChars ? { fault: 'key_too_long' } : { key: text };
}

/**
 * Returns the key of an execution that starts with these data.
 * @param executionKey path of the key: `event.orderId`; null: the workflow has no keys
 * @param data of the event, or the context of a manual start
 */
export function startKeyOf(
  executionKey: string | null,
  data: Record<string, unknown> | null,
): StartKey {
  if (executionKey === null) return { key: null };
  return keyOf(readPath(data, executionKey.split('.').slice(1)));
}
