/** A mail that arrived, as the provider reports it. */
export interface InboundMail {
  messageId: string;
  /** Address of the sender, in its stored form. */
  from: string;
  fromName: string | null;
  /** Recipient addresses, in their stored form. */
  recipients: string[];
  subject: string;
  /** Sanitized HTML; null when there is none or it must not be stored. */
  body: string | null;
  /** More data for the event, from the provider's report about the mail. */
  report: Record<string, unknown>;
}
