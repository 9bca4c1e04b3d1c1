import { z } from 'zod';
import { flag, hostName, number, text } from '../../config-fields.ts';
import type { SigningVariables } from './signing-settings.ts';

/** Variables for the ways in which mail servers can send reports to Everpost. */
export const incomingVariables = {
  RETURN_PATH_DOMAIN: hostName,
  SMTP_SUCCESS_REPORTS: flag(false),
  INBOUND_SMTP_PORT: number(0, 0, 65535),
  INBOUND_SMTP_HOST: z.string().default('0.0.0.0'),
  INBOUND_SMTP_TLS_CERT: text,
  INBOUND_SMTP_TLS_KEY: text,
  INBOUND_MIME_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  FEEDBACK_IMAP_HOST: text,
  FEEDBACK_IMAP_PORT: number(993, 1, 65535),
  FEEDBACK_IMAP_USER: text,
  FEEDBACK_IMAP_PASSWORD: text,
  FEEDBACK_IMAP_SECURE: flag(true),
  FEEDBACK_IMAP_MAILBOX: z.string().default('INBOX'),
  FEEDBACK_IMAP_SECONDS: number(60, 1, 86_400),
  FEEDBACK_IMAP_MOVE_TO: text,
};

export type ReturnPathVariables = Pick<IncomingVariables, 'RETURN_PATH_DOMAIN'> &
  Pick<SigningVariables, 'RETURN_PATH_HOST'>;
export type IncomingVariables = z.output<z.ZodObject<typeof incomingVariables>>;

/**
 * Returns true if mail over SMTP can have a return path: one return path for all mail, or one for
 * each sender domain.
 */
export function hasReturnPath(env: ReturnPathVariables): boolean {
  return env.RETURN_PATH_DOMAIN !== undefined || env.RETURN_PATH_HOST !== undefined;
}

/** Returns true if any way is configured in which messages can arrive. */
export function hasWay(env: IncomingVariables): boolean {
  const { INBOUND_SMTP_PORT: port, INBOUND_MIME_SECRET: secret, FEEDBACK_IMAP_HOST: host } = env;
  return port > 0 || Boolean(secret) || Boolean(host);
}

export function incomingSettings(env: IncomingVariables) {
  return {
    /**
     * Domain of the return path for sender domains without a return path of their own; null: such
     * mail has no return path.
     */
    returnPathDomain: env.RETURN_PATH_DOMAIN ?? null,
    /** True if mail servers are asked to report successful deliveries, too. */
    successReports: env.SMTP_SUCCESS_REPORTS,
    /** True if any way is configured in which messages can arrive. */
    canReceive: hasWay(env),
    /** The ways in which messages arrive; null: the way is off. */
    incoming: {
      smtp: receiverSettings(env),
      /** Secret that signs requests to the webhook for messages. */
      mimeSecret: env.INBOUND_MIME_SECRET ?? null,
      imap: mailboxSettings(env),
    },
  };
}

function receiverSettings(env: IncomingVariables) {
  const { INBOUND_SMTP_PORT: port, INBOUND_SMTP_TLS_CERT: cert, INBOUND_SMTP_TLS_KEY: key } = env;
  if (port === 0) return null;
  return {
    port,
    host: env.INBOUND_SMTP_HOST,
    /** The files of certificate and key; null: connections are not encrypted. */
    tls: cert && key ? { cert, key } : null,
  };
}

function mailboxSettings(env: IncomingVariables) {
  if (!env.FEEDBACK_IMAP_HOST) return null;
  return {
    host: env.FEEDBACK_IMAP_HOST,
    port: env.FEEDBACK_IMAP_PORT,
    user: env.FEEDBACK_IMAP_USER ?? '',
    password: env.FEEDBACK_IMAP_PASSWORD ?? '',
    secure: env.FEEDBACK_IMAP_SECURE,
    mailbox: env.FEEDBACK_IMAP_MAILBOX,
    /** Seconds between two reads of the mailbox. */
    seconds: env.FEEDBACK_IMAP_SECONDS,
    moveTo: env.FEEDBACK_IMAP_MOVE_TO ?? null,
  };
}
