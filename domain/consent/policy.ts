import type { SuppressionScope } from '../mail/suppression.ts';

/** How a project asks for consent. */
export interface ConsentPolicy {
  /** Nobody is subscribed by a public key, by inbound mail or on a page without having confirmed. */
  requireConfirmation: boolean;
  /** Of the confirmation mail; null: the built-in text. */
  templateId: string | null;
  /** The sender of the confirmation mail, where its template has none. */
  from: string | null;
  fromName: string | null;
  /** Seconds from the first mail of a request to its reminder; null: there is none. */
  remindAfter: number | null;
  /** Seconds from the last mail of a request to its end. */
  expireAfter: number;
  /** The scope of suppression entries of permanent bounces. */
  bounceScope: SuppressionScope;
}

/** Whether the body of a template uses the link of a confirmation mail. */
export function usesConfirmUrl(body: string): boolean {
  return /\{[{%][^{}]*\bconfirmUrl\b/.test(body);
}
