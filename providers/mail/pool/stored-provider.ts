import {
  circuitName,
  reportsDelivery,
  type SesFields,
  type SmtpFields,
  type StoredProvider,
} from '../../../domain/provider/provider.ts';
import type { AddressGuard } from '../../web/address-guard.ts';
import type { SesSettings } from '../ses/mailer.ts';
import type { SmtpSettings } from '../smtp/session.ts';

/** The server of a provider from the database or from the installation's file, with its secret. */
export type ProviderServer =
  | { kind: 'smtp'; fields: SmtpFields; secret: string | null }
  | { kind: 'ses'; fields: SesFields; secret: string };

/** Maximum number of milliseconds until the session with a project's server is ready. */
const sessionMs = 15_000;
const replyMs = 30_000;
/** Maximum number of connections to a project's server. */
const connectionsMax = 5;

/** Settings of this installation that apply to all mail servers. */
export interface ServerRules {
  /** Decides which addresses the servers of projects may have. */
  guard: AddressGuard;
  /** True if servers that report by mail are asked to report successful deliveries, too. */
  successReports: boolean;
  hasSimulator: boolean;
  /** Returns the endpoint of Amazon SES in a region; undefined: Amazon's own endpoint. */
  sesEndpointOf(region: string): string | undefined;
}

export interface ServerOwner {
  scope: 'installation' | 'project';
  feedback: string;
  reportsDelivery: boolean;
}

/** Returns the settings for connecting to an SMTP server. */
export function smtpSettingsOf(
  { fields, secret }: ProviderServer & { kind: 'smtp' },
  { scope, feedback, reportsDelivery }: ServerOwner,
  { guard, successReports, hasSimulator }: ServerRules,
): SmtpSettings {
  const { host, port, security, user } = fields;
  return {
    host,
    port,
    secure: security === 'tls',
    startTls: security === 'starttls' ? 'required' : 'never',
    user: user ?? undefined,
    password: secret ?? undefined,
    loginRequired: true,
    successReports: feedback === 'dsn' && successReports,
    hasDeliveryReports: reportsDelivery,
    hasSimulator,
    ...(scope === 'project' && { guard, connectionsMax, sessionMs, timeoutMs: replyMs }),
  };
}

/** Returns the settings for connecting to an account at Amazon SES. */
export function sesSettingsOf(
  { fields, secret }: ProviderServer & { kind: 'ses' },
  { scope }: Pick<ServerOwner, 'scope'>,
  { sesEndpointOf }: Pick<ServerRules, 'sesEndpointOf'>,
): SesSettings {
  const { region, accessKeyId, configurationSet } = fields;
  return {
    region,
    accessKeyId,
    secretAccessKey: secret,
    endpoint: sesEndpointOf(region),
    configurationSet: configurationSet ?? '',
    configurationSetNoTracking: configurationSet ?? '',
    ...(scope === 'project' && { connectionsMax, timeoutMs: replyMs }),
  };
}

/** Returns the server of a project's provider. @throws Error when the secret cannot be decrypted */
export function serverOf(
  { fields, secret }: StoredProvider,
  cipher: { decrypt(bytes: Buffer): string },
): ProviderServer {
  const opened = secret === null ? null : cipher.decrypt(secret);
  if (fields.kind === 'smtp') return { kind: 'smtp', fields, secret: opened };
  return { kind: 'ses', fields, secret: opened ?? '' };
}

export function ownerOf({ feedback }: StoredProvider, rules: ServerRules): ServerOwner {
  return { scope: 'project', feedback, reportsDelivery: reportsDelivery(feedback, rules) };
}

/** Returns the properties that the mailer of a project's provider will have. */
export function traitsOf({ id, fields: { kind } }: StoredProvider, rules: ServerRules) {
  return {
    provider: circuitName(id),
    hasSimulator: kind === 'smtp' && rules.hasSimulator,
    defaultRatePerSecond: 200,
    // With SMTP, twice as many messages as connections are sent at once, because the commands of
    // the next message already wait while one message is written.
    maxConcurrency: kind === 'smtp' ? 2 * connectionsMax : connectionsMax,
    notesBegin: kind === 'smtp',
  };
}
