import type { ClaimedShare } from '../../billing/billing.ts';
import type { MailHeader } from '../../emails/emails.ts';
import type { PlainRendering } from '../../sql/mail-trace.ts';
import type { ChunkOrigin } from './claims.ts';
import type { Refusal, WithheldReason } from '../../../domain/outcomes/outcome.ts';

/** Outcomes of attempts to give messages to the mail provider. */

/** The content of a message: its body, or its values for the campaign's body template. */
export type MailText = {
  subject: string;
  /** Set only if the message class does not determine them. */
  headers?: readonly MailHeader[] | undefined;
  /** Set when its template could not be rendered, with the reason. */
  renderedPlainly?: PlainRendering | undefined;
} & ({ body: string } | { bodyTemplate: string; values: readonly string[] });

export type DeliveryOutcome = {
  emailId: string;
  /** Content that was given to the mail provider, if the row does not have it yet. */
  content?: MailText | undefined;
} & (
  | {
      kind: 'accepted';
      /** null: the provider returned an id that cannot be stored. */
      messageId: string | null;
      delivered: boolean;
      /** True if nothing will report the delivery, so that it can only be assumed. */
      isUnreported?: boolean;
      /** The recipient's address, if it is one of the simulator, which replaces the provider's reports. */
      simulator?: string;
    }
  /** The provider rejected it. */
  | {
      kind: 'refused';
      error: string;
      /** By default `provider_refused`. */
      refusal?: Refusal;
    }
  /** It must not be sent, and was not given to the mail provider. */
  | { kind: 'withheld'; reason: WithheldReason | 'delivery_unknown' }
  /** The provider could not take it now. */
  | { kind: 'again'; error: string; delayMs: number }
  /**
   * It may have been accepted: the row stays SENDING until feedback arrives or the settle time
   * ends.
   */
  | { kind: 'uncertain'; error: string }
  /** It was not given to the mail provider, and is due again: now, or after `delayMs`. */
  | { kind: 'released'; delayMs?: number }
);

/**
 * The attempts of one batch, one id for each claimed chunk or message, and the outcomes of its messages
 * in the order in which they happened. The two lists are not parallel.
 */
export interface Attempt {
  projectId: string;
  attemptIds: readonly string[];
  outcomes: readonly DeliveryOutcome[];
  /** The claimed messages. Accepted mail is billed even if its row is gone. */
  claimed?: readonly ClaimedShare[];
  /** Set when all messages belong to this campaign, and were claimed with one of its chunks. */
  campaign?: { id: string; pauseOnFailures: number; chunk: ChunkOrigin };
}
