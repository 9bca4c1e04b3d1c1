import { readPath } from '../filter/value.ts';
import { limits } from '../limits.ts';

/**
 * How executions of a workflow are started: which key they get, and when a contact may have another
 * execution.
 */

export const reentryModes = ['once', 'after_end', 'parallel'] as const;

/** When a contact may enter a workflow again. */
export interface Reentry {
  /**
   * `once`: never; `after_end`: while no execution is active; `parallel`: always, up to a limit.
   * With execution keys each key counts by itself.
   */
  mode: (typeof reentryModes)[number];
  /** Minimum time between two starts, in seconds; null: none. */
  minIntervalSeconds: number | null;
}

/** Why an event starts no execution. These reasons are stored, and customers see them. */
export const notStartedReasons = ['no_key', 'key_too_long', 'too_many'] as const;
export type NotStartedReason = (typeof notStartedReasons)[number];

export type KeyFault = Extract<NotStartedReason, 'no_key' | 'key_too_long'>;

/** The key of an execution (null: the workflow has no keys), or why there is no valid key. */
export type StartKey = { key: string | null } | { fault: KeyFault };

/**
 * Returns a value as the key of an execution: text as it is, numbers and booleans as JSON. So `1` and
 * `"1"` are the same key.
 */
export function keyOf(value: unknown): { key: string } | { fault: KeyFault } {
  const text =
    typeof value === 'number' || typeof value === 'boolean' ? JSON.stringify(value) : value;
  if (typeof text !== 'string' || text === '') return { fault: 'no_key' };
  return text.length > limits.executionKeyChars ? { fault: 'key_too_long' } : { key: text };
}

/**
 * Returns the key of an execution that starts with this data.
 * @param executionKey path of the key: `event.orderId`; null: the workflow has no keys
 * @param data of the event, or the context of a start by hand
 */
export function startKeyOf(
  executionKey: string | null,
  data: Record<string, unknown> | null,
): StartKey {
  if (executionKey === null) return { key: null };
  return keyOf(readPath(data, executionKey.split('.').slice(1)));
}
