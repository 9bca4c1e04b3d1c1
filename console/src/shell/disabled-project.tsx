import type { Project } from '../api/api.ts';

type Reason = NonNullable<Project['disabledReason']>;

/** Reasons for which a project is disabled, in words. */
const disabledReasons: Record<Reason, string> = {
  MANUAL: 'The operator of this server has disabled it.',
  PHISHING_DETECTED: 'The operator has disabled it, because its mail looks like phishing.',
  CARD_VERIFICATION_FAILED: 'The bank has reported fraud with its card.',
  EMAIL_REPUTATION: 'Too many of its mails bounced, or were marked as spam.',
  PAYMENT_FAILED: 'An invoice could not be paid.',
};

/**
 * Shown on all pages of a disabled project, because the buttons of such a project have no effect.
 */
export function DisabledProject({ project: { disabledReason } }: { project: Project }) {
  if (disabledReason === null) return null;
  return (
    <div className="alert" role="status">
      <strong>
        This project is disabled. <code>{disabledReason}</code>
      </strong>
      <span>
        {disabledReasons[disabledReason]} It shows its data, but sends and changes nothing.
        {disabledReason === 'PAYMENT_FAILED'
          ? ' It goes on when the invoice is paid: see Billing in the settings.'
          : ' Ask the operator of this server.'}
      </span>
    </div>
  );
}
