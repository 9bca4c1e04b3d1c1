import type { ReasonCode } from '../outcomes/outcome.ts';

/** Which failed mail of a campaign can be tried again. A later attempt may have another result. */
export const retriableReasons = [
  'provider_refused',
  'provider_unavailable',
  'domain_not_verified',
  'billing_limit',
  'frequency_cap',
] as const satisfies ReasonCode[];
export type RetriableReason = (typeof retriableReasons)[number];

/** The reasons that are tried again by default. */
export const defaultRetryReasons: readonly RetriableReason[] = retriableReasons.slice(0, 4);
