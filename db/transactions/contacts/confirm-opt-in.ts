import { sql } from 'kysely';
import { type OptInOfLink, findOptInOfLink } from '../../consent/confirmations.ts';
import { type ConsentOrigin, recordConsent } from '../../consent/log.ts';
import { closeOptIns } from '../../consent/opt-ins.ts';
import { lockContact } from '../../contacts/contacts.ts';
import type { Database } from '../../database.ts';
import { liftSuppression } from '../../suppression/erased.ts';
import { recordTopicChoices } from './choose-topics.ts';
import { recordSubscription } from './record-contact.ts';

/**
 * Confirms the opt-in request of a token, in the caller's transaction: the contact is subscribed,
 * and gets the requested topics. Confirming again changes nothing. Returns the new state of the
 * request; undefined when there is no such request, or it is over.
 */
export async function confirmOptIn(
  tx: Database,
  token: string,
  /** Returns the evidence of the confirmation; its text is the question on the page. */
  originOf: (request: OptInOfLink) => ConsentOrigin,
): Promise<OptInOfLink | undefined> {
  const found = await findOptInOfLink(tx, token);
  if (!found) return undefined;
  const before = await lockContact(tx, found.project_id, { id: found.contact_id });
  // Read again under the lock, because the request may have ended while another transaction had
  // locked the contact.
  const request = before && (await findOptInOfLink(tx, token));
  if (!request || request.isConfirmed) return request;
  const { id: contactId, project_id: projectId, email } = before;
  const origin = originOf(request);
  const [asked] = await closeOptIns(tx, [contactId], 'confirmed');
  const isSubscribed = request.isOfMail && !before.subscribed;
  const contact = { ...before, subscribed: before.subscribed || request.isOfMail };
  if (isSubscribed) {
    await sql`
      update contact set subscribed = true, updated_at = now() where id = ${contactId}`.execute(tx);
    await recordSubscription(tx, contact, origin);
  }
  const choices = new Map(request.topics.map(({ id }) => [id, true]));
  const changed = await recordTopicChoices(tx, contact, choices, { origin });
  // Also confirms subscriptions that the contact got meanwhile without a confirmation.
  const line = { contactId, action: 'confirmed' as const };
  const lines = [
    ...(request.isOfMail && !isSubscribed ? [{ ...line, topic: null }] : []),
    ...(asked?.topicKeys ?? [])
      .filter((key) => !changed.includes(key))
      .map((topic) => ({ ...line, topic })),
  ];
  await recordConsent(tx, projectId, lines, origin);
  await liftSuppression(tx, projectId, email);
  return { ...request, subscribed: contact.subscribed, isConfirmed: true };
}
