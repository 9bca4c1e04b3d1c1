import type { WebhookService } from '../../../domain/provider/provider.ts';

/** A message that a service reports on, as the service knows it. */
export interface ReportedMail {
  emailId: string;
  to: string;
  /** Our `Message-ID`. */
  messageId?: string;
  /** The text of the receiving server; absent: that of the service's example. */
  text?: string;
  /** When it happened; absent: a second ago. */
  at?: Date;
  /** True if the event does not return our id, only the `Message-ID`. */
  isBare?: boolean;
}

export type MailEvent = (mail: ReportedMail) => Record<string, unknown>;

/** The kinds of events that a service has, each about one message. */
export type EventKind =
  | 'delivered'
  | 'permanent'
  | 'transient'
  | 'delayed'
  | 'complained'
  | 'notSent'
  | 'accepted'
  | 'unsubscribed'
  | 'opened';

export interface FakeMailService {
  feedback: WebhookService;
  /** The `feedbackSecret` of a provider. */
  secret: string;
  /** Its events by kind. Absent: the service has none of this kind. */
  events: Partial<Record<EventKind, MailEvent>>;
  /** Returns the request that reports events, signed now or at another time. */
  request(body: unknown, given?: { at?: Date; secret?: string }): FakeRequest;
}

export interface FakeRequest {
  headers: Record<string, string>;
  body: string;
}

export const json = { 'Content-Type': 'application/json' };
export const seconds = (at: Date) => Math.floor(at.getTime() / 1000);
export const timeOf = ({ at }: ReportedMail) => at ?? new Date(Date.now() - 1000);
export const messageIdOf = ({ emailId, messageId }: ReportedMail) =>
  messageId ?? `${emailId}@shop.test`;
