import type { Feedback } from '../../../domain/mail/feedback.ts';

/** A request by which a mail service reports. */
export interface WebhookRequest {
  bytes: Buffer;
  /** The events in the body. @throws Problem INVALID_REQUEST_BODY, PAYLOAD_TOO_LARGE */
  events(): readonly unknown[];
  /** Returns a header; an empty text if it is missing. */
  header(name: string): string;
}

/** How a mail service that takes mail by SMTP reports what became of it. */
export interface FeedbackAdapter {
  /** The header that tells the service our id of a message; null: a header of every message does. */
  idHeader: { name: string; valueOf: (emailId: string) => string } | null;
  /**
   * Refuses a request that the service has not sent.
   * @throws Problem MISSING_SIGNATURE, INVALID_SIGNATURE
   */
  authenticate(request: WebhookRequest, secret: string, now: Date): void;
  /** Reads an event; null: it says nothing about what became of a message. */
  read(event: Json, request: WebhookRequest): ServiceEvent | null;
}

/** An event of a mail service, in its own words. */
export interface ServiceEvent {
  outcome: ServiceOutcome;
  /** Our id of the message; null: the event does not have it. */
  emailId: string | null;
  /** The service's id of the event, which is the same in a repeat; null: it has none. */
  id: string | null;
  /** null: the time of arrival counts. */
  at: Date | null;
  /** The text of the server that refused or took the message, or that of the service. */
  text: string | null;
  /** The reply or status code, where the service has a field for it. */
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

/** An object of parsed JSON, of any shape. */
export type Json = Readonly<Record<string, unknown>>;
