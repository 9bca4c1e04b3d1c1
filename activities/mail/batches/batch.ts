import type { BillingRules, ClaimedShare } from '../../../db/billing/billing.ts';
import type { SendingRates } from '../../../db/delivery/send-rate.ts';
import type { DeliveryOutcome } from '../../../db/transactions/mail/attempts.ts';
import type { ChunkOrigin } from '../../../db/transactions/mail/claims.ts';
import type { Chosen, ProviderChooser } from '../../../db/transactions/mail/provider-claims.ts';
import type { Suppression } from '../../../domain/mail/suppression.ts';
import type { TrackingSetting } from '../../../domain/mail/tracking-setting.ts';
import type { Sign } from '../../../domain/links/tracking.ts';
import type { WithheldReason } from '../../../domain/outcomes/outcome.ts';
import type { Journal } from '../../../providers/journal/journal.ts';
import type { Mailer } from '../../../providers/mail/mailer.ts';
import type { Metrics } from '../../../providers/metrics/metrics.ts';
import type { ReturnPaths } from '../../../providers/return-paths.ts';
import type { MailGate } from '../../restores/mail-gate.ts';
import type { CircuitServices } from './circuit.ts';
import type { Attempted, OutcomeRules } from './outcomes.ts';
import type { RoutingServices } from './routing.ts';

/** A batch of mail: how its messages are claimed and composed. */

export interface SendingServices extends CircuitServices, OutcomeRules, RoutingServices {
  /** The mailer of the default provider. */
  mailer: Mailer;
  metrics: Pick<Metrics, 'countOutcomes'>;
  journal: Pick<Journal, 'claim'>;
  mailGate: MailGate;
  rates: SendingRates;
  returnPaths: Pick<ReturnPaths, 'pathOf'>;
  /** null: only the mail provider may insert a pixel and links. */
  tracking: Tracking | null;
  /** null: billing is off. */
  billingRules: BillingRules;
}

export interface Tracking {
  /** Base URL of pixel and links, at the API or at the tracking host of the sender domain. */
  apiUrl: string;
  sign: Sign;
}

/** The columns that every sender needs of a claimed message. */
export interface Sendable extends ClaimedShare, Attempted {
  id: string;
  project_id: string;
  from_email: string;
  message_class: string;
  contact_email: string;
  contact_subscribed: boolean;
  project_disabled: boolean;
  /** True if the sender domain was removed or lost its verification while the message waited. */
  sender_gone: boolean;
  /** True if the contact is being erased. */
  contact_gone: boolean;
  /** The suppression list's entry for the address. */
  suppression: Suppression | null;
  /** True if the contact has left the topic of the message. */
  topic_left: boolean;
  /** For a confirmation mail, the state of its opt-in request; null or absent for other mail. */
  opt_in_state?: string | null;
  /** The provider of the last attempt; null: the default provider, without a route. */
  provider_id: string | null;
  /**
   * True if the provider of the last attempt may have accepted the message, so no other provider
   * may get it.
   */
  is_bound: boolean;
  /** The providers that were chosen with the claim; absent: the default provider. */
  chosen?: Chosen;
  /** Why the message must not be sent, as decided with the claim. */
  withheld?: WithheldReason | 'delivery_unknown';
  project_tracking: TrackingSetting;
  /** Host of the tracked links in the message; null: the host of the API. */
  tracking_host: string | null;
  /** The attachments of the message; absent: mail of this kind has none. */
  attachments?: readonly { bytes: number }[];
  /** The body of the message, if it was rendered earlier. */
  body?: string | null;
}

/** A composed message, with the content that its row does not have yet. */
export interface Composed {
  raw: Buffer;
  content?: DeliveryOutcome['content'];
}

/**
 * Thrown when the content of a valid message cannot be loaded now. The batch's claim is then
 * released.
 */
export class ContentUnavailable extends Error {}

/**
 * Thrown while a message is composed whose body exceeds the size limit. The message is not sent.
 */
export class BodyTooLarge extends Error {}

export interface Batch<E extends Sendable> {
  projectId: string;
  /** Maximum number of messages to deliver. */
  max: number;
  /** True if the project's routes may choose mail providers. */
  isRouted: boolean;
  /** Claims messages for an attempt and commits. */
  claim(attempt: ClaimAttempt): Promise<Claimed<E>>;
  /**
   * Releases the messages that an attempt has claimed. Only for an attempt that gave none to the
   * mail provider.
   */
  release(attemptId: string): Promise<void>;
  /**
   * Loads the parts that the messages share, and returns a function that composes one message. That
   * function may throw ContentUnavailable (the rest of the batch is released and the batch fails)
   * or BodyTooLarge (only this message is not sent).
   */
  prepare(
    emails: readonly E[],
  ): Promise<(email: E, tracking: Tracking | null) => Composed | Promise<Composed>>;
  /** Set when all messages belong to this campaign. */
  campaign?: {
    id: string;
    /** Number of consecutive refusals after which sending stops; 0: never. */
    pauseOnFailures: number;
  };
}

export interface ClaimAttempt {
  attemptId: string;
  leaseSeconds: number;
  max: number;
  /** Chooses the mail providers; null: all messages go to the default provider. */
  chooser: ProviderChooser | null;
}

/**
 * Claimed messages. Those of a campaign come from one chunk (a row of `campaign_chunk`), so a claim
 * should not ask for more messages than a chunk has.
 */
export interface Claimed<E> {
  emails: readonly E[];
  /** Undefined if the mail is of no campaign, or if no chunk was free. */
  chunk?: CampaignChunk | undefined;
}

/** Values that all messages of a chunk share. */
export interface CampaignChunk extends ChunkOrigin {
  /** Number of consecutive refusals of the campaign's mail just before this chunk. */
  refusedInRow: number;
  /** The campaign's own limit in messages per minute; null: none. */
  maxPerMinute: number | null;
}
