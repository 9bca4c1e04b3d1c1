import type { z } from 'zod';
import { flag } from '../../../config-fields.ts';
import { localIdentities } from '../identities.ts';
import type { MailProvider } from '../provider.ts';
import { mailboxMailer } from './mailer.ts';

const variables = { LOCAL_MAILBOX_PUBLIC: flag(false) };
type MailboxVariables = z.output<z.ZodObject<typeof variables>>;

/** Keeps mail in the database, where developers can read it, and needs no settings. */
export const mailbox: MailProvider = {
  kind: 'mailbox',
  mode: 'local',
  tracks: false,
  variables,
  rules: [
    {
      effect: 'warn',
      where: 'production',
      isBroken: ({ LOCAL_MAILBOX_PUBLIC: isPublic }: MailboxVariables) => isPublic,
      sentence: 'LOCAL_MAILBOX_PUBLIC is true: everybody who reaches the API can read every mail',
    },
  ],
  configure({ LOCAL_MAILBOX_PUBLIC: isPublic }: MailboxVariables, { isProduction }) {
    return {
      createMailer: mailboxMailer,
      createIdentities: (records) => localIdentities(records, { transport: 'mailbox' }),
      defaultRatePerProjectPerSecond: 100,
      testsToMembersOnly: false,
      mailboxReaders: isPublic ? 'all' : isProduction ? 'none' : 'private',
      canToggleTracking: false,
      reports: 'mailbox',
      reportsDeliveries: true,
      sesRegion: null,
      canSign: false,
      spfMechanism: null,
    };
  },
};
