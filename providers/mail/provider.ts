import type { Logger } from 'pino';
import type { z } from 'zod';
import type { ProblemCode } from '../../domain/errors.ts';
import type { Feedback } from '../../domain/mail/feedback.ts';
import type { InboundMail } from '../../domain/mail/inbound.ts';
import type { SettingRule } from '../../domain/settings/unsafe-settings.ts';
import type { Client } from '../engagement/clients.ts';
import type { Identities, RecordSettings } from './identities.ts';
import type { Mailer, MailerServices } from './mailer.ts';

/**
 * A kind of mail provider. Each kind has a folder here, and a line in
 * `providers/mail-providers.ts`.
 */
export interface MailProvider {
  /** The name of the kind and of its folder. */
  kind: string;
  /** The name of the kind in `GET /config`; `local`: the kind does not manage sender domains. */
  mode: string;
  /** True if the provider can insert its own pixel and links, and does so by default. */
  tracks: boolean;
  /** The environment variables of the kind. */
  variables: z.ZodRawShape;
  /** Rules about unsafe values of these variables, checked only if this provider sends. */
  rules: readonly SettingRule<Variables>[];
  /** Creates the provider from the settings; null: the variables choose another provider. */
  configure(variables: Variables, given: { isProduction: boolean }): MailSender | null;
  /**
   * Reads reports about sent mail, and received mail. Absent: the provider has no endpoint for
   * reports.
   */
  feedback?: FeedbackDefinition;
}

/** The values of all variables. A provider reads only its own variables. */
export type Variables = Record<string, unknown>;

/** A configured provider that sends mail. */
export interface MailSender {
  createMailer(services: MailerServices): Mailer;
  createIdentities(records: RecordSettings): Identities;
  /** Emails per second of a project, if no setting limits it. */
  defaultRatePerProjectPerSecond: number;
  /** True if a campaign's test may only be sent to members of the project. */
  testsToMembersOnly: boolean;
  /** The clients that may read the local mailbox, which contains the mail of all projects. */
  mailboxReaders: 'none' | 'private' | 'all';
  /** True if the provider has separate settings for mail with and without its own tracking. */
  canToggleTracking: boolean;
  /**
   * The way in which the provider reports: by its own service, by delivery status notifications of
   * mail servers, in the mailbox, or not at all.
   */
  reports: 'ses' | 'dsn' | 'mailbox' | 'none';
  /** True if deliveries are reported, so that mail can become DELIVERED. */
  reportsDeliveries: boolean;
  /** The AWS region that sends; null: not Amazon. */
  sesRegion: string | null;
  /** True if Everpost signs the mail (DKIM) before this provider gets it. */
  canSign: boolean;
  /** The SPF mechanism of the provider's server; null: its records contain SPF already. */
  spfMechanism: string | null;
}

/** The API endpoints for the reports of a provider. */
export interface FeedbackDefinition {
  endpoints: readonly { id: string; path: `/${string}` }[];
  summary: string;
  description: string;
  /** Codes of the problems that `read` throws. */
  problems: readonly ProblemCode[];
  /**
   * Returns the topics whose reports are accepted; null: the endpoints are closed.
   * @param given.isSending true if this provider sends
   */
  configure(
    variables: Variables,
    given: { isProduction: boolean; isSending: boolean },
  ): TrustedTopics | null;
  createReader(): FeedbackReader;
}

/**
 * `any`: every topic is trusted, but only on a developer's machine that does not send through the
 * provider, where forged reports do no harm.
 */
export type TrustedTopics = readonly string[] | 'any';

export interface FeedbackReader {
  /**
   * Checks the origin of a request, and reads its body.
   * @param isTrusted returns true if reports of a topic are accepted
   * @throws Problem with one of the codes in `problems`
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
  /** Nothing needs to be recorded. `message`: a sentence for the response. */
  | { kind: 'done'; message?: string };

export interface SentReport {
  /** Everpost's id of the mail, if the report contains it. */
  emailId: string | null;
  /** The provider's id of the mail. */
  messageId: string;
  feedback: Feedback;
  /** The client of an open or click, if the report contains it. */
  client?: Client;
  /** When the provider accepted the mail. */
  acceptedAt: Date;
  /** Id of the report, so that a repeated report is applied only once. */
  receipt: string;
}
