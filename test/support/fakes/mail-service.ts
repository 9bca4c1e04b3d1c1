import type { WebhookService } from '../../../domain/provider/provider.ts';

/** A message about which a service reports, with the service's data. */
export interface ReportedMail {
  emailId: string;
  to: string;
  /** The `Message-ID` of Everpost. */
  messageId?: string;
  /** The text of the receiving server; absent: the text in the service's own example. */
  text?: string;
  /** Time of the event; absent: a second ago. */
  at?: Date;
  /** True if the event contains only the `Message-ID`, not the email id of Everpost. */
  isBare?: boolean;
}

export type MailEvent = (mail: ReportedMail) => Record<string, unknown>;

/** The kinds of events of a service. Each event concerns one message. */
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
  /** The secret that authenticates requests: the `feedbackSecret` of a provider. */
  secret: string;
  /** The service's events, by kind. Absent: the service has no events of this kind. */
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
