import type { Position } from '../cursor.ts';
import type { ReasonCode } from '../outcomes/outcome.ts';

/** Reasons of failed mail that a retry of the campaign may cure. */
export const retriableReasons = [
  'provider_refused',
  'provider_unavailable',
  'domain_not_verified',
  'billing_limit',
  'frequency_cap',
] as const satisfies ReasonCode[];
export type RetriableReason = (typeof retriableReasons)[number];

/** The reasons that a retry includes by default. */
export const defaultRetryReasons: readonly RetriableReason[] = retriableReasons.slice(0, 4);

/** A retry of a campaign's failed mail, and its progress. */
export interface Retry {
  /** The reasons whose mail was not fully checked yet; empty: the retry is over. */
  reasons: RetriableReason[];
  /** The last checked mail of the first of `reasons`; null: no mail was checked yet. */
  after: Position | null;
  /** Number of mails that the retry has made wait again. */
  retried: number;
}
