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

/** A retry of the failed mail of a campaign, and how far it has come. */
export interface Retry {
  /** The reasons that are left. None: it is over. */
  reasons: RetriableReason[];
  /** The last mail of the first reason that was checked; null: none was. */
  after: Position | null;
  /** How many mails wait again. */
  retried: number;
}
