import type { ConsentPolicy } from '../../api/api.ts';
import { duration } from '../times.ts';

/** Mail that an address does not get after a permanent bounce. */
export const bounceScopes: Record<ConsentPolicy['bounceScope'], string> = {
  marketing: 'No marketing mail to this address',
  all: 'No mail at all to this address',
};

/** Explains a consent policy in sentences. */
export function consentSentence({
  requireConfirmation,
  remindAfter,
  expireAfter,
}: Pick<ConsentPolicy, 'requireConfirmation' | 'remindAfter' | 'expireAfter'>): string {
  const who = requireConfirmation
    ? 'A contact that subscribes on a page or with a public key gets a mail, and is subscribed only after pressing its button.'
    : 'Contacts are subscribed at once. Only requests with “confirm” send a confirmation mail.';
  const reminder = remindAfter === null ? '' : ` A reminder comes after ${duration(remindAfter)}.`;
  return `${who}${reminder} The link works for ${duration(expireAfter)}.`;
}
