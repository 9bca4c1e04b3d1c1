import type { ConsentOrigin } from '../../consent/log.ts';
import { type AskingContact, requestOptIn } from '../../consent/opt-ins.ts';
import type { Database } from '../../database.ts';
import { joinTopics } from './choose-topics.ts';

/** Topics that a request asks for, beside the contact's own subscription. */
export interface ConsentRequest {
  /**
   * True if subscription and topics begin only after the owner of the address has confirmed them.
   */
  isOptIn: boolean;
  /** The ids of the requested topics. */
  topics: readonly string[];
  /** True if topics that the contact itself has left stay left, unless it confirms them. */
  keepsLeft: boolean;
}

/**
 * Applies the request to a contact that was just written: it starts an opt-in request, or the
 * contact joins the topics.
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
