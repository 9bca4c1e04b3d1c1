import type { SuppressionScope } from '../mail/suppression.ts';

/** How a project asks for consent. */
export interface ConsentPolicy {
  /** True if public keys, inbound mail and pages subscribe a contact only after confirmation. */
  requireConfirmation: boolean;
  /** The template of the confirmation mail; null: the built-in text. */
  templateId: string | null;
  /** The sender of the confirmation mail, if its template names none. */
  from: string | null;
  fromName: string | null;
  /** Seconds from the first mail of a request to its reminder; null: there is none. */
  remindAfter: number | null;
  /** Seconds from the last mail of a request to its expiry. */
  expireAfter: number;
  /** The scope of the suppression entries that permanent bounces create. */
  bounceScope: SuppressionScope;
}

/** The policy that applies until a project sets its own. */
export const defaultConsentPolicy: ConsentPolicy = {
  requireConfirmation: false,
  templateId: null,
  from: null,
  fromName: null,
  remindAfter: null,
  expireAfter: 604_800,
  bounceScope: 'marketing',
};

export function usesConfirmUrl(body: string): boolean {
  return /\{[{%][^{}]*\bconfirmUrl\b/.test(body);
}
