import type { Logger } from 'pino';
import type { z } from 'zod';
import type { ProblemCode } from '../../domain/errors.ts';
import type { Feedback } from '../../domain/mail/feedback.ts';
import type { InboundMail } from '../../domain/mail/inbound.ts';
import type { SettingRule } from '../../domain/unsafe-settings.ts';
import type { Client } from '../engagement/clients.ts';
import type { Identities, RecordSettings } from './identities.ts';
import type { Mailer, MailerServices } from './mailer.ts';

/**
 * A kind of mail provider, with all that Everpost knows about it. Each has a folder here, and a
 * line in `providers/mail-providers.ts`.
 */
export interface MailProvider {
  /** The name of its folder. */
  kind: string;
  /** Its name in `GET /config`; `local`: it does not manage sender domains. */
  mode: string;
  /** True if it can insert its own pixel and links, and does by default. */
  tracks: boolean;
  /** Its environment variables. */
  variables: z.ZodRawShape;
  /** Rules for unsafe values of its variables, checked only if this provider sends. */
  rules: readonly SettingRule<Variables>[];
  /** Creates this provider from its settings; null: the variables choose another one. */
  configure(variables: Variables, given: { isProduction: boolean }): MailSender | null;
  /** Reads reports about sent mail, and received mail; missing: it reports nothing. */
  feedback?: FeedbackDefinition;
}

/** The values of all variables. A provider reads only its own. */
export type Variables = Record<string, unknown>;

/** The provider that sends, with its settings applied. */
export interface MailSender {
  createMailer(services: MailerServices): Mailer;
  createIdentities(records: RecordSettings): Identities;
  /** Emails per second of one project, if no setting limits them. */
  defaultRatePerProjectPerSecond: number;
  /** True if the test of a campaign may be sent only to members of the project. */
  testsToMembersOnly: boolean;
  /** Clients that may read the local mailbox, which contains the mail of every project. */
  mailboxReaders: 'none' | 'private' | 'all';
  /** True if it has separate settings for mail with and without its own tracking. */
  canToggleTracking: boolean;
  /** How it reports: by its own service, by delivery status of mail servers, or not at all. */
  reports: 'ses' | 'dsn' | 'mailbox' | 'none';
  /** True if deliveries are reported, so that mail can become DELIVERED. */
  reportsDeliveries: boolean;
  /** The AWS region that sends; null: none. */
  sesRegion: string | null;
  /** True if Everpost signs the mail that this provider takes (DKIM). */
  canSign: boolean;
  /** The SPF mechanism of the server that it gives mail to; null: it has records of its own. */
  spfMechanism: string | null;
}

/** The API endpoints to which a provider reports. */
export interface FeedbackDefinition {
  endpoints: readonly { id: string; path: `/${string}` }[];
  summary: string;
  description: string;
  /** Codes of the problems that `read` throws. */
  problems: readonly ProblemCode[];
  /**
   * Returns the topics whose reports are accepted; null: the endpoints are closed.
   * @param given.isSending true if this provider sends.
   */
  configure(
    variables: Variables,
    given: { isProduction: boolean; isSending: boolean },
  ): TrustedTopics | null;
  createReader(): FeedbackReader;
}

/**
 * `any`: every topic is trusted. This is for a developer's machine that does not send through the
 * provider, because forged reports do no harm there.
 */
export type TrustedTopics = readonly string[] | 'any';

export interface FeedbackReader {
  /**
   * Reads the body of a request after checking its origin.
   * @param isTrusted returns true if reports of a topic are accepted
   * @throws Problem with one of the codes in `problems`.
   */
  read(
    body: Buffer,
    isTrusted: (topic: string) => Promise<boolean>,
    log: Logger,
  ): Promise<FeedbackRequest>;
}

export type FeedbackRequest =
  | { kind: 'feedback'; report: SentReport }
  | { kind: 'inbound'; receipt: string; mail: InboundMail }
  /** There is nothing to record. `message`: a sentence for the response. */
  | { kind: 'done'; message?: string };

export interface SentReport {
  /** Our id of the mail, if the provider returns it. */
  emailId: string | null;
  /** The provider's id of the mail. */
  messageId: string;
  feedback: Feedback;
  /** The client of an open or click, if the provider reports it. */
  client?: Client;
  /** When the provider accepted the mail. */
  acceptedAt: Date;
  /** Id of the report. A report that is received twice is applied once. */
  receipt: string;
}
