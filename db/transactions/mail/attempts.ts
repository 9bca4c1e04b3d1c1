import type { ClaimedShare } from '../../billing/billing.ts';
import type { MailHeader } from '../../emails/emails.ts';
import type { PlainRendering } from '../../sql/mail-trace.ts';
import type { ChunkOrigin } from './claims.ts';
import type { Refusal, WithheldReason } from '../../../domain/outcomes/outcome.ts';

/** Outcomes of attempts to give messages to the mail provider. */

/** The content of a message: its body, or its values for the campaign's body template. */
export type MailText = {
  subject: string;
  /** Headers of the message, if its class does not determine them. */
  headers?: readonly MailHeader[] | undefined;
  /** Set with the reason when the message's template could not be rendered. */
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
      /**
       * The recipient's address, if it is an address of the simulator, which replaces the
       * provider's reports.
       */
      simulator?: string;
    }
  /** The provider rejected the message. */
  | {
      kind: 'refused';
      error: string;
      /** Reason for the refusal, by default `provider_refused`. */
      refusal?: Refusal;
    }
  /** The message must not be sent, and was not given to the mail provider. */
  | { kind: 'withheld'; reason: WithheldReason | 'delivery_unknown' }
  /** The provider could not take the message now. */
  | { kind: 'again'; error: string; delayMs: number }
  /**
   * The provider may have accepted the message, which stays SENDING until feedback arrives or the
   * settle time ends.
   */
  | { kind: 'uncertain'; error: string }
  /** The message was not given to the mail provider, and is due again: now, or after `delayMs`. */
  | { kind: 'released'; delayMs?: number }
);

/**
 * The attempts of one batch, one id for each claimed chunk or message, and the outcomes of its
 * messages in the order in which they happened. The two lists do not correspond by index.
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
