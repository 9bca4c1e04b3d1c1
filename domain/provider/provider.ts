/** Mail providers: the servers and services that send mail for us. */

export const providerKinds = ['smtp', 'ses'] as const;
export type ProviderKind = (typeof providerKinds)[number];

export const securities = ['starttls', 'tls', 'none'] as const;
export type Security = (typeof securities)[number];

/** Mail services that report by webhook. */
export const webhookServices = [
  'postmark',
  'mailgun',
  'sendgrid',
  'brevo',
  'mailjet',
  'resend',
] as const;
export type WebhookService = (typeof webhookServices)[number];

/** How a provider reports on mail. `ses` is only for providers of the kind `ses`. */
export const feedbackKinds = ['dsn', ...webhookServices, 'none', 'ses'] as const;
export type FeedbackKind = (typeof feedbackKinds)[number];

/** The services whose webhooks can only be checked with a key that the customer enters. */
const signingServices: ReadonlySet<string> = new Set(['mailgun', 'sendgrid', 'resend']);

/** The id of the provider that sends all mail without a route. */
export const defaultProviderId = 'default';

/** Matches the id of a provider in the configuration of the server. */
export const installationId = /^[a-z][a-z0-9-]{0,39}$/;

/** Returns true if providers with this kind of feedback send webhooks to us. */
export function hasWebhook(feedback: string): feedback is WebhookService {
  return (webhookServices as readonly string[]).includes(feedback);
}

export function needsFeedbackSecret(feedback: string): boolean {
  return signingServices.has(feedback);
}

/** Returns true if the provider reports deliveries, so that its mail can become DELIVERED. */
export function reportsDelivery(feedback: string, settings: { successReports: boolean }): boolean {
  return (
    feedback === 'ses' || hasWebhook(feedback) || (feedback === 'dsn' && settings.successReports)
  );
}

/**
 * Returns the stored form of a mail server's host: a name in lower case and Punycode, or an IP
 * address without brackets. null: the text is neither.
 */
export function normaliseMailHost(text: string): string | null {
  const name = text.trim().replace(/^\[(.*)\]$/, '$1');
  if (/[\s/\\@?#%[\]]/.test(name)) return null;
  // The URL parser also turns each notation of an IPv4 address into four numbers.
  const url = URL.parse(`http://${name.includes(':') ? `[${name}]` : name}`);
  const host = url?.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') ?? '';
  const isName = host.split('.').every((part) => label.test(part));
  return host.length <= 253 && (isName || host.includes(':')) ? host : null;
}

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Returns the name of the circuit of a provider other than `default`. */
export function circuitName(id: string): string {
  return `provider ${id}`;
}

/** The settings of an SMTP server. */
export interface SmtpFields {
  host: string;
  port: number;
  security: Security;
  user: string | null;
}

/** The settings of an account at Amazon SES. */
export interface SesFields {
  region: string;
  accessKeyId: string;
  configurationSet: string | null;
  snsTopicArn: string | null;
}

/** The settings of a provider that the API may show. */
export type ProviderFields = ({ kind: 'smtp' } & SmtpFields) | ({ kind: 'ses' } & SesFields);

/** A provider of a project as stored. */
export interface StoredProvider {
  id: string;
  name: string;
  fields: ProviderFields;
  feedback: string;
  enabled: boolean;
  /** Sender domains for which the provider may send; null: all. */
  domains: readonly string[] | null;
  ratePerSecond: number | null;
  maxMessageMb: number | null;
  ownSigning: boolean;
  /** Number that each change of the address or the credentials increases. */
  revision: number;
  /** The encrypted password or secret key. */
  secret: Buffer | null;
}
