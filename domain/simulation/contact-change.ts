import { contactDataFault } from '../contact/data.ts';
import { isJsonEqual } from '../filter/value.ts';
import type { SimulatedContact } from './simulation.ts';

interface ContactChange {
  set: Record<string, unknown>;
  remove: readonly string[];
  /** undefined: not changed. */
  subscribed?: boolean | undefined;
}

/**
 * Returns a contact after a change, by the rules of `recordContact`. `fault`: the limit that the
 * contact's data would exceed.
 */
export function changedContact(
  before: SimulatedContact,
  { set, remove, subscribed = before.subscribed }: ContactChange,
  now: Date,
): SimulatedContact | { fault: string } {
  const merged = { ...before.data, ...set };
  for (const key of remove) delete merged[key];
  const data = Object.keys(merged).length === 0 ? null : merged;
  const fault = contactDataFault(data);
  if (fault !== null) return { fault };
  const isSame = subscribed === before.subscribed && isJsonEqual(data, before.data);
  return isSame ? before : { ...before, data, subscribed, updatedAt: now };
}
