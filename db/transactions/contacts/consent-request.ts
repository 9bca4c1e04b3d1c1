import type { ConsentOrigin } from '../../consent/log.ts';
import { type AskingContact, requestOptIn } from '../../consent/opt-ins.ts';
import type { Database } from '../../database.ts';
import { joinTopics } from './choose-topics.ts';

/**
 * The wishes of an API request for a contact: the topics to join, and if the contact must confirm.
 */
export interface ConsentRequest {
  /**
   * True if the contact is subscribed and joins the topics only after the owner of the address has
   * confirmed this.
   */
  isOptIn: boolean;
  /** The ids of the requested topics. */
  topics: readonly string[];
  /**
   * True: the request does not join topics that the contact itself has left. Only a confirmation by
   * the contact does.
   */
  keepsLeft: boolean;
}

/**
 * Applies a `ConsentRequest` to a contact that was just written. With `isOptIn`, an opt-in request
 * begins. Otherwise the contact joins the topics at once.
 * @throws Problem CONSENT_SENDER_REQUIRED
 */
export async function applyConsentRequest(
  tx: Database,
  contact: AskingContact,
  { isOptIn, topics, keepsLeft }: ConsentRequest,
  { origin, isNew }: { origin: ConsentOrigin; isNew: boolean },
): Promise<void> {
  if (isOptIn) return requestOptIn(tx, contact, { topicIds: topics, origin });
  return joinTopics(tx, contact, topics, { origin, isNew, keepsLeft });
}
