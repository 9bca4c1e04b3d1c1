import { z } from 'zod';
import { text, url } from '../../../config-fields.ts';
import { isReadableOnTheWay } from '../../../domain/settings/unsafe-settings.ts';
import type { MailProvider, Variables } from '../provider.ts';
import { sesFeedback, topicsOf } from './feedback.ts';
import { sesIdentities } from './identities.ts';
import { sesMailer } from './mailer.ts';

const variables = {
  AWS_SES_REGION: text,
  AWS_SES_ACCESS_KEY_ID: text,
  AWS_SES_SECRET_ACCESS_KEY: text,
  AWS_SES_CREDENTIALS: z.enum(['keys', 'default']).default('keys'),
  AWS_SES_ENDPOINT: url.optional(),
  SES_CONFIGURATION_SET: z.string().default('everpost'),
  SES_CONFIGURATION_SET_NO_TRACKING: z.string().default('everpost-no-tracking'),
  SNS_TOPIC_ARN: text,
};
type SesVariables = z.output<z.ZodObject<typeof variables>>;

/** Amazon SES, which also manages sender domains, and reports through SNS. */
export const ses: MailProvider = {
  kind: 'ses',
  mode: 'ses',
  tracks: true,
  variables,
  rules: [
    {
      effect: 'refuse',
      where: 'production',
      isBroken: ({ AWS_SES_ENDPOINT: endpoint }: SesVariables) => isReadableOnTheWay(endpoint),
      sentence:
        'AWS_SES_ENDPOINT must begin with https:// or point to this machine when NODE_ENV=production: otherwise someone in the network could read the mail',
    },
    {
      effect: 'warn',
      where: 'everywhere',
      isBroken: ({ SNS_TOPIC_ARN: topics }: SesVariables) => topicsOf(topics).length === 0,
      sentence:
        'SNS_TOPIC_ARN is not set: reports of Amazon SNS are refused, so deliveries, bounces and complaints are not recorded',
    },
  ],
  configure(env: SesVariables) {
    const byDefault = env.AWS_SES_CREDENTIALS === 'default';
    const hasKeys = env.AWS_SES_ACCESS_KEY_ID && env.AWS_SES_SECRET_ACCESS_KEY;
    if (!env.AWS_SES_REGION || !(byDefault || hasKeys)) return null;
    const settings = {
      region: env.AWS_SES_REGION,
      accessKeyId: byDefault ? undefined : env.AWS_SES_ACCESS_KEY_ID,
      secretAccessKey: byDefault ? undefined : env.AWS_SES_SECRET_ACCESS_KEY,
      endpoint: env.AWS_SES_ENDPOINT,
      configurationSet: env.SES_CONFIGURATION_SET,
      configurationSetNoTracking: env.SES_CONFIGURATION_SET_NO_TRACKING,
    };
    return {
      createMailer: () => sesMailer(settings),
      createIdentities: (records) => sesIdentities(settings, records),
      // The usual rate of an SES account outside the sandbox.
      defaultRatePerProjectPerSecond: 14,
      testsToMembersOnly: true,
      mailboxReaders: 'none',
      canToggleTracking: Boolean(settings.configurationSet && settings.configurationSetNoTracking),
      reports: 'ses',
      reportsDeliveries: true,
      sesRegion: settings.region,
      canSign: false,
      spfMechanism: null,
    };
  },
  feedback: sesFeedback,
};

/** Returns the configured endpoint and its region; null: each region has its own endpoint. */
export function readSesEndpoint(variables: Variables): { region: string; url: string } | null {
  const { AWS_SES_REGION: region, AWS_SES_ENDPOINT: url } = variables as SesVariables;
  return region && url ? { region, url } : null;
}
