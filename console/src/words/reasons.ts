import type { ContactExport, Suppression } from '../../../client/api.ts';

type MailReason = NonNullable<ContactExport['emails'][number]['reasonCode']>;
type Absence =
  | 'not_in_audience'
  | 'unsubscribed_at_freeze'
  | 'topic_unsubscribed_at_freeze'
  | 'created_after_freeze'
  | 'pending';

/** Reasons why a mail was not sent, or not yet, one sentence per code. */
const reasons: Record<MailReason | Absence, string> = {
  provider_refused: 'The mail provider refused it.',
  recipient_refused: 'The server of the recipient refused it.',
  provider_unavailable: 'The mail provider could not be reached.',
  contact_unsubscribed: 'The contact has unsubscribed.',
  topic_unsubscribed: 'The contact has left the topic.',
  suppressed: 'The address is on the suppression list.',
  held_out: 'The contact is in the hold-out, which gets no marketing mail.',
  frequency_cap: 'The contact has had as many mails as the send policy allows.',
  late: 'The time for it had passed.',
  billing_limit: 'The sending limit of the project was reached.',
  domain_not_verified: 'The domain of the sender is not verified.',
  project_disabled: 'The project is disabled.',
  campaign_cancelled: 'The campaign was cancelled.',
  execution_ended: 'The execution of the workflow has ended.',
  cancelled: 'The mail was cancelled.',
  message_too_large: 'The mail is too large.',
  no_provider: 'No mail provider could take it.',
  contact_deleted: 'The contact was deleted.',
  restored: 'The operator has discarded it, because the database was restored.',
  quiet_hours: 'It waits for the end of the quiet hours.',
  warm_up: 'It waits, because a warm-up limits the mail of a day.',
  operator: 'It waits for the operator, because the database was restored.',
  awaiting_start: 'It waits for the start of the campaign.',
  campaign_paused: 'The campaign is paused.',
  experiment: 'It waits for the result of the experiment.',
  schedule: 'It waits for its time.',
  retry: 'It will be tried again.',
  queued: 'It is in the queue.',
  delivery_unsettled: 'The provider has not yet said if it took the mail.',
  delivery_unknown: 'The provider never said if it took the mail.',
  not_in_audience: 'The contact is not in the audience.',
  unsubscribed_at_freeze: 'The contact was unsubscribed when the campaign began.',
  topic_unsubscribed_at_freeze: 'The contact had left the topic when the campaign began.',
  created_after_freeze: 'The contact was added after the campaign began.',
  pending: 'The campaign has not come to this contact yet.',
};

/** Returns a reason in words. An unknown code is shown as it is. */
export function textOfReason(code: string): string {
  return reasons[code as MailReason] ?? `Reason: ${code}.`;
}

const suppressions: Record<Suppression['reason'], string> = {
  hard_bounce: 'Mail to the address bounced for good.',
  complaint: 'The recipient marked a mail as spam.',
  manual: 'Somebody put it on the list.',
  import: 'It was imported.',
  erased: 'The contact was erased.',
  opt_out: 'The recipient opted out.',
};

export const textOfSuppression = (reason: Suppression['reason']): string => suppressions[reason];

/** Reasons of entries on the suppression list, as short names for a filter. */
export const suppressionReasons: Record<Suppression['reason'], string> = {
  hard_bounce: 'Bounced',
  complaint: 'Marked as spam',
  manual: 'Added by hand',
  import: 'Imported',
  erased: 'Erased',
  opt_out: 'Opted out',
};

/** The mail that an address on the suppression list does not get. */
export const suppressionScopes: Record<Suppression['scope'], string> = {
  marketing: 'No marketing mail',
  all: 'No mail at all',
};
