import { isIP } from 'node:net';
import type { z } from 'zod';
import { flag, number, text } from '../../../config-fields.ts';
import { localIdentities } from '../identities.ts';
import {
  hasReturnPath,
  hasWay,
  type IncomingVariables,
  type ReturnPathVariables,
} from '../incoming-settings.ts';
import type { MailProvider } from '../provider.ts';
import { smtpMailer } from './mailer.ts';

const variables = {
  SMTP_HOST: text,
  SMTP_PORT: number(1025, 1, 65535),
  SMTP_USER: text,
  SMTP_PASSWORD: text,
  SMTP_SECURE: flag(false),
};
type SmtpVariables = z.output<z.ZodObject<typeof variables>> &
  IncomingVariables &
  ReturnPathVariables;

/** Sends mail through an SMTP server. Mail servers report to the return path of each message. */
export const smtp: MailProvider = {
  kind: 'smtp',
  mode: 'local',
  tracks: false,
  variables,
  rules: [
    {
      effect: 'warn',
      where: 'everywhere',
      isBroken: (env: SmtpVariables) => !hasReturnPath(env),
      sentence:
        'RETURN_PATH_DOMAIN and RETURN_PATH_HOST are missing: without one of them, bounces and complaints about mail by SMTP are not read',
    },
    {
      effect: 'warn',
      where: 'everywhere',
      isBroken: (env: SmtpVariables) => hasReturnPath(env) && !hasWay(env),
      sentence:
        'INBOUND_SMTP_PORT, INBOUND_MIME_SECRET or FEEDBACK_IMAP_HOST is required with RETURN_PATH_DOMAIN or RETURN_PATH_HOST: otherwise no bounce or complaint arrives',
    },
  ],
  configure(env: SmtpVariables, { isProduction }) {
    if (!env.SMTP_HOST) return null;
    const settings = {
      host: env.SMTP_HOST,
      port: env.SMTP_PORT,
      secure: env.SMTP_SECURE,
      user: env.SMTP_USER,
      password: env.SMTP_PASSWORD,
      successReports: env.SMTP_SUCCESS_REPORTS,
      hasSimulator: !isProduction,
    };
    return {
      createMailer: () => smtpMailer(settings),
      createIdentities: (records) =>
        localIdentities(records, { transport: 'smtp', verifiesReservedNames: !isProduction }),
      defaultRatePerProjectPerSecond: 100,
      testsToMembersOnly: isProduction,
      mailboxReaders: 'none',
      canToggleTracking: false,
      reports: hasReturnPath(env) && hasWay(env) ? 'dsn' : 'none',
      reportsDeliveries: env.SMTP_SUCCESS_REPORTS,
      sesRegion: null,
      canSign: true,
      spfMechanism: spfMechanismOf(env.SMTP_HOST),
    };
  },
};

/** Returns the SPF mechanism for a mail server (RFC 7208, 5.3 and 5.6). */
function spfMechanismOf(host: string): string {
  const version = isIP(host);
  return version === 0 ? `a:${host}` : `ip${version}:${host}`;
}
