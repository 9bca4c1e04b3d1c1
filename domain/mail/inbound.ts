/** A mail that arrived. */
export interface ReceivedMail {
  messageId: string;
  /** Address of the sender, in its stored form. */
  from: string;
  fromName: string | null;
  subject: string;
  /** Sanitized HTML; null when the mail has none, or when it must not be stored. */
  body: string | null;
  /** Facts about how the mail arrived, for the data of its event. */
  report: Record<string, unknown>;
}

/** A received mail, as a provider reports it. */
export interface InboundMail extends ReceivedMail {
  /** Recipient addresses, in their stored form. */
  recipients: string[];
}
