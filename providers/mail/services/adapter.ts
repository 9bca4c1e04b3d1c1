import type { Feedback } from '../../../domain/mail/feedback.ts';

/** A webhook request in which a mail service reports. */
export interface WebhookRequest {
  bytes: Buffer;
  /** Returns the events in the body. @throws Problem INVALID_REQUEST_BODY, PAYLOAD_TOO_LARGE */
  events(): readonly unknown[];
  /** Returns a header; an empty text if it is missing. */
  header(name: string): string;
}

/** Reads the reports of a mail service that takes mail over SMTP. */
export interface FeedbackAdapter {
  /**
   * The header that gives Everpost's id of a message to the service; null: the service uses a
   * header that every message has.
   */
  idHeader: { name: string; valueOf: (emailId: string) => string } | null;
  /**
   * Refuses a request that does not come from the service.
   * @throws Problem MISSING_SIGNATURE, INVALID_SIGNATURE
   */
  authenticate(request: WebhookRequest, secret: string, now: Date): void;
  /** Reads an event; null: the event does not report on the delivery of a message. */
  read(event: Json, request: WebhookRequest): ServiceEvent | null;
}

/** An event of a mail service, in the terms of that service. */
export interface ServiceEvent {
  outcome: ServiceOutcome;
  /** Everpost's id of the message; null: the event does not contain it. */
  emailId: string | null;
  /**
   * The service's id of the event, which is the same for a repeated event; null: the service gives
   * events no ids.
   */
  id: string | null;
  /** When the event happened; null: the event does not say, so the time of arrival counts. */
  at: Date | null;
  /** The text of the server that took or refused the message, or of the service itself. */
  text: string | null;
  /** The reply or status code, if the service has a field for it. */
  code?: string | null;
}

type BounceType = Extract<Feedback, { kind: 'bounce' }>['bounceType'];

export type ServiceOutcome =
  | { kind: Exclude<Feedback['kind'], 'bounce' | 'open' | 'click'> }
  | { kind: 'bounce'; bounceType: BounceType };

export const accepted: ServiceOutcome = { kind: 'accepted' };
export const delayed: ServiceOutcome = { kind: 'delayed' };
export const delivered: ServiceOutcome = { kind: 'delivery' };
export const complained: ServiceOutcome = { kind: 'complaint' };
export const unsubscribed: ServiceOutcome = { kind: 'unsubscribe' };
export const notSent: ServiceOutcome = { kind: 'rejection' };
export const permanent: ServiceOutcome = { kind: 'bounce', bounceType: 'Permanent' };
export const undetermined: ServiceOutcome = { kind: 'bounce', bounceType: 'Undetermined' };
export const transient: ServiceOutcome = { kind: 'bounce', bounceType: 'Transient' };

/** A JSON object of any shape. */
export type Json = Readonly<Record<string, unknown>>;
