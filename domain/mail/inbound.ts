/** A mail that arrived. */
export interface ReceivedMail {
  messageId: string;
  /** Address of the sender, in its stored form. */
  from: string;
  fromName: string | null;
  subject: string;
  /** Sanitized HTML; null when there is none or it must not be stored. */
  body: string | null;
  /** More data for the event, about how the mail arrived. */
  report: Record<string, unknown>;
}

/** A mail that arrived, as a provider reports it. */
export interface InboundMail extends ReceivedMail {
  /** Recipient addresses, in their stored form. */
  recipients: string[];
}
