/** One complete message for one recipient. */
export interface OutgoingMessage {
  /** Id of the email row. SES gets it as a message tag; the local mailbox uses it as key. */
  emailId: string;
  /** Bounce address of the SMTP envelope. SES replaces it with its own. */
  envelopeFrom: string;
  /** The one recipient; the `To` header in `raw` is only for display. */
  to: string;
  /** The whole MIME message, CRLF line ends, 7-bit. */
  raw: Buffer;
  /** True if the provider should insert its own pixel and links, if it can. */
  tracked: boolean;
  /** Decides about signatures and return path, if the provider leaves them to Everpost. */
  senderDomain?: SenderDomain;
  /**
   * Called just before the message is given to the provider; false stops the message. Absent: the
   * message cannot be stopped.
   */
  mayBegin?: () => boolean;
  /** Notes that survive the death of the process. Absent: there are none. */
  notes?: HandOverNotes;
}

/** Notes about giving one message to the mail provider. */
export interface HandOverNotes {
  /**
   * Notes that the provider may accept the message from now on. Call it right before the last byte is
   * written by which it can. false: the note could not be made, so this byte must not be written.
   */
  begin(): boolean;
  /** Notes the outcome. Call it as soon as the outcome is known. A second call changes nothing. */
  end(outcome: SendOutcome): void;
}

/** A sender domain, and the project that it belongs to; null: this server sends. */
export interface SenderDomain {
  projectId: string | null;
  domain: string;
}

/** The outcome of one message. The failures differ in whether a retry is safe. */
export type SendOutcome =
  | {
      kind: 'accepted';
      messageId: string;
      /** True if acceptance is delivery. */
      delivered: boolean;
      /** True if nothing will report the delivery, so that it can only be assumed. */
      isUnreported?: boolean;
    }
  /** The provider rejected this message. Never retry. */
  | {
      kind: 'refused';
      error: string;
      /** True if the recipient's address was rejected, not the message or its sender. */
      isRecipient?: boolean;
    }
  /**
   * The provider has not accepted the message, but may accept it later. A retry cannot send it twice.
   */
  | {
      kind: 'retry';
      error: string;
      retryAfterMs?: number;
      /** True if the provider works, but delays this message or its recipient. */
      isAboutMessage?: boolean;
    }
  /**
   * The message may have been accepted, so a retry may send it twice. Only later feedback can show
   * whether it was.
   */
  | { kind: 'uncertain'; error: string }
  /** Not given to the provider, because `mayBegin` returned false. */
  | { kind: 'stopped'; error: string };

export const stopped: SendOutcome = {
  kind: 'stopped',
  error: 'Sending was stopped before the message was complete.',
};

export interface Mailer {
  /** Kind and address, for people and as the name of the circuit. */
  provider: string;
  /** True if reports about mail to `simulator.test` are simulated: see `simulatedFeedback`. */
  hasSimulator: boolean;
  /** Emails per second for the whole server, if neither a setting nor a quota limits them. */
  defaultRatePerSecond: number;
  /** Maximum number of concurrent sends. More would only wait for a connection. */
  maxConcurrency: number;
  /**
   * True if `send` calls `notes.begin` at the last moment. Absent: it is called before `send`.
   */
  notesBegin?: boolean;
  /**
   * Gives one message to the mail provider. Never throws: any failure of provider or network is an
   * outcome.
   */
  send(message: OutgoingMessage): Promise<SendOutcome>;
  /**
   * Returns the account's quota in emails per second; null: there is none, or it is not reported.
   */
  quotaPerSecond(): Promise<number | null>;
  /** Waits for sends in progress and closes the connections. */
  close(): Promise<void>;
}

/** A message of the local mailbox. `id` is the email id, so storing it twice is harmless. */
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
  /** Stores a message in the local mailbox; storing an id twice is harmless. */
  storeMessage(message: StoredMessage): Promise<void>;
}
