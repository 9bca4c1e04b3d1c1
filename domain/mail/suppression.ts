/** The suppression list of a project: addresses to which it must not send. */

export const suppressionReasons = [
  'hard_bounce',
  'complaint',
  'manual',
  'import',
  'erased',
  'opt_out',
] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/**
 * `marketing`: blocks mail of class MARKETING. `all`: blocks all mail of the project except tests
 * of campaigns.
 */
export const suppressionScopes = ['marketing', 'all'] as const;
export type SuppressionScope = (typeof suppressionScopes)[number];

/** The suppression list's entry for the address of a message. */
export interface Suppression {
  scope: SuppressionScope;
  reason: SuppressionReason;
}

/** An entry and its expiry; null: it never expires. */
export interface TimedSuppression extends Suppression {
  until: Date | null;
}

/** Returns true if the entry blocks mail of this class. null: the list has no active entry. */
export function isSuppressed(entry: Suppression | null, messageClass: string): boolean {
  return entry !== null && (entry.scope === 'all' || messageClass === 'MARKETING');
}

/**
 * Returns true if an address gets no confirmation mail, because its owner complained or the
 * customer suppressed it.
 */
export function refusesConfirmation(entry: Suppression | null): boolean {
  return entry?.reason === 'complaint' || entry?.reason === 'manual';
}
