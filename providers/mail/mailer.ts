/** A complete message for one recipient. */
export interface OutgoingMessage {
  /**
   * Id of the row in `email`. SES gets the id as a message tag; the local mailbox uses the id as
   * key.
   */
  emailId: string;
  /** Envelope sender, to which bounces go. SES replaces it with its own envelope sender. */
  envelopeFrom: string;
  /** The only recipient. The `To` header in `raw` is only for display. */
  to: string;
  /** The whole MIME message, in 7-bit and with CRLF line ends. */
  raw: Buffer;
  /** True if the provider should insert its own pixel and links, if it can. */
  tracked: boolean;
  /**
   * The domain that determines signatures and return path, if the provider leaves them to Everpost.
   */
  senderDomain?: SenderDomain;
  /**
   * Called just before the message is given to the provider; returns false to stop the message.
   * Absent: the message cannot be stopped.
   */
  mayBegin?: () => boolean;
  /** Takes notes that survive the death of the process. Absent: no notes are taken. */
  notes?: HandOverNotes;
}

/** Takes notes about sending one message. */
export interface HandOverNotes {
  /**
   * Notes that the provider may accept the message from now on. Must be called just before the last
   * byte that the provider needs to accept the message. Returns false if the note could not be
   * written. Then this byte must not be sent.
   */
  begin(): boolean;
  /**
   * Notes the outcome. Must be called as soon as the outcome is known. A second call has no effect.
   */
  end(outcome: SendOutcome): void;
}

/** A sender domain and its project; null: the mail is the platform's own. */
export interface SenderDomain {
  projectId: string | null;
  domain: string;
}

/** The outcome of sending one message. Kinds of failure differ in whether a retry is safe. */
export type SendOutcome =
  | {
      kind: 'accepted';
      messageId: string;
      /** True if the message is already delivered. */
      delivered: boolean;
      /**
       * True if no report about the delivery will come, so that the delivery can only be assumed.
       */
      isUnreported?: boolean;
    }
  /** The provider rejected this message, so it must never be retried. */
  | {
      kind: 'refused';
      error: string;
      /** True if the recipient's address was rejected, and not the message or its sender. */
      isRecipient?: boolean;
    }
  /**
   * The provider did not accept the message, but may accept it later. A retry cannot send the
   * message twice.
   */
  | {
      kind: 'retry';
      error: string;
      retryAfterMs?: number;
      /** True if the provider works, and only this message or its recipient is delayed. */
      isAboutMessage?: boolean;
    }
  /**
   * The provider may have accepted the message, so a retry could send the message twice. Only later
   * feedback can show if the message was accepted.
   */
  | { kind: 'uncertain'; error: string }
  /** The message was not given to the provider, because `mayBegin` returned false. */
  | { kind: 'stopped'; error: string };

export const stopped: SendOutcome = {
  kind: 'stopped',
  error: 'Sending was stopped before the message was complete.',
};

export interface Mailer {
  /** Kind and address of the provider, shown to people and used as the name of the circuit. */
  provider: string;
  /** True if reports about mail to `simulator.test` are simulated (see `simulatedFeedback`). */
  hasSimulator: boolean;
  /** Emails per second of the whole server, if neither a setting nor a quota limits this rate. */
  defaultRatePerSecond: number;
  /** Maximum number of parallel sends. Further sends would only wait for a connection. */
  maxConcurrency: number;
  /**
   * True if `send` itself calls `notes.begin`, at the last moment. Absent: the caller calls
   * `notes.begin` before `send`.
   */
  notesBegin?: boolean;
  /**
   * Sends one message. Never throws: every failure of the provider or the network is an outcome.
   */
  send(message: OutgoingMessage): Promise<SendOutcome>;
  /**
   * Returns the account's quota in emails per second; null: the account has no quota, or the quota
   * is unknown.
   */
  quotaPerSecond(): Promise<number | null>;
  /** Waits for sends in progress and closes the connections. */
  close(): Promise<void>;
}

/**
 * A message of the local mailbox. `id` is the id of the email, so storing the message twice is
 * harmless.
 */
export interface StoredMessage {
  id: string;
  /** Address of the `From` header. */
  from: string;
  /** Recipient of the envelope. */
  to: string;
  subject: string;
  raw: Buffer;
}

export interface MailerServices {
  /** Stores a message in the local mailbox. Storing an id twice is harmless. */
  storeMessage(message: StoredMessage): Promise<void>;
}
