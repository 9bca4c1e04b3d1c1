/** One finished message for one recipient. */
export interface OutgoingMessage {
  /** Id of the email in the ledger: SES gets it as message tag, the local mailbox as its key. */
  emailId: string;
  /** Bounce address of the SMTP envelope. SES sets its own. */
  envelopeFrom: string;
  /** The one recipient; the `To` header inside `raw` is only for reading. */
  to: string;
  /** The whole MIME message, CRLF line ends, 7-bit. */
  raw: Buffer;
  /** Whether the provider shall insert its own pixel and links. One that cannot leaves it. */
  tracked: boolean;
}

/** What became of one message. The three failures differ in what may be done next. */
export type SendOutcome =
  /** `delivered`: there will be no delivery feedback, acceptance has to count as delivery. */
  | { kind: 'accepted'; messageId: string; delivered: boolean }
  /** The provider looked at this message and does not want it. Never try again. */
  | { kind: 'refused'; error: string }
  /** Surely not accepted, and for no fault of the message. Trying again cannot send twice. */
  | { kind: 'retry'; error: string; retryAfterMs?: number }
  /** May have been accepted. Trying again may send twice; only feedback can tell. */
  | { kind: 'uncertain'; error: string };

export interface Mailer {
  /** Whether what becomes of accepted mail is reported later: delivery, bounces, complaints. */
  reportsDelivery: boolean;
  /** Emails per second for the whole server where neither a setting nor a quota says it. */
  defaultRatePerSecond: number;
  /** Connections in the pool: more sends at once than this only wait in line. */
  maxConcurrency: number;
  /** Hands one message over. Never throws: whatever provider and network do is an outcome. */
  send(message: OutgoingMessage): Promise<SendOutcome>;
  /** Emails per second the provider allows this account; null when it has no quota or does not say. */
  quotaPerSecond(): Promise<number | null>;
  /** Lets sends under way finish and closes the connections. */
  close(): Promise<void>;
}
