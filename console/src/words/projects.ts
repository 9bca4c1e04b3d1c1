import type { Project } from '../api/api.ts';

type Reason = NonNullable<Project['disabledReason']>;

/** Reasons for which a project is disabled, in words. */
export const disabledReasons: Record<Reason, string> = {
  MANUAL: 'The operator of this server has disabled it.',
  PHISHING_DETECTED: 'The operator has disabled it, because its mail looks like phishing.',
  CARD_VERIFICATION_FAILED: 'The bank has reported fraud with its card.',
  EMAIL_REPUTATION: 'Too many of its mails bounced, or were marked as spam.',
  PAYMENT_FAILED: 'An invoice could not be paid.',
};
