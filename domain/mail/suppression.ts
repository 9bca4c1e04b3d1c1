/** The suppression list of a project: addresses that it must not send to. */

export const suppressionReasons = [
  'hard_bounce',
  'complaint',
  'manual',
  'import',
  'erased',
  'opt_out',
] as const;
export type SuppressionReason = (typeof suppressionReasons)[number];

/** `marketing`: mail of class MARKETING. `all`: every mail of a project but tests of campaigns. */
export const suppressionScopes = ['marketing', 'all'] as const;
export type SuppressionScope = (typeof suppressionScopes)[number];

/** What the list says of the address of a message. */
export interface Suppression {
  scope: SuppressionScope;
  reason: SuppressionReason;
}

/** Whether the list keeps a message of this class from its address; null: no entry holds now. */
export function isSuppressed(entry: Suppression | null, messageClass: string): boolean {
  return entry !== null && (entry.scope === 'all' || messageClass === 'MARKETING');
}

/** Whether an address is not even asked to confirm: its owner, or the customer, has said so. */
export function refusesConfirmation(entry: Suppression | null): boolean {
  return entry?.reason === 'complaint' || entry?.reason === 'manual';
}
