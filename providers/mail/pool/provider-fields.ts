import { z } from 'zod';
import { fault } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { feedbackKinds, normaliseMailHost, securities } from '../../../domain/provider/provider.ts';
import { normaliseDomainName } from '../../../domain/sender/domain-name.ts';
import { withGiven } from '../../../domain/text-rules.ts';

/**
 * The schemas of a mail provider's fields, in a request and in the installation's file. Rules
 * between fields are in `domain/provider/rules.ts`.
 */

function textRead(read: (text: string) => string | null, message: string) {
  return z.string().transform((text, context) => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', ...fault('invalid_string', withGiven(message, text)) });
    return z.NEVER;
  });
}

const credential = z
  .string()
  .max(limits.credentialChars)
  .transform((text) => (text === '' ? null : text))
  .nullable();

const DomainName = textRead(
  normaliseDomainName,
  'Must be a host name with a dot, such as mail.example.com.',
);

export const serverFields = {
  host: textRead(normaliseMailHost, 'Must be a host name or an IP address.')
    .optional()
    .describe('Required for the kind smtp'),
  port: z.int().min(1).max(65_535).optional().describe('Default: 587'),
  security: z
    .enum(securities)
    .optional()
    .describe('Default: starttls, on port 465 tls. Both insist on a valid certificate'),
  user: credential.optional(),
  password: credential.optional().describe('Never returned'),
  region: z
    .string()
    .regex(/^[a-z]{2}(-[a-z]{2,12})+-\d{1,2}$/, 'Must be an AWS region, such as eu-west-1.')
    .optional()
    .describe('Required for the kind ses'),
  accessKeyId: z
    .string()
    .regex(/^\w{16,128}$/, 'Must be the id of an AWS access key, such as AKIAIOSFODNN7EXAMPLE.')
    .optional()
    .describe('Required for the kind ses'),
  secretAccessKey: z
    .string()
    .min(1)
    .max(limits.credentialChars)
    .optional()
    .describe('Required for the kind ses; never returned'),
  configurationSet: z
    .string()
    .regex(
      /^[\w-]{1,64}$/,
      'Must be the name of a configuration set of Amazon SES: letters, digits, _ and -.',
    )
    .nullish(),
  snsTopicArn: z
    .string()
    .regex(
      /^arn:aws[a-z-]*:sns:[a-z\d-]+:\d{12}:[\w-]{1,256}$/,
      'Must be the ARN of an SNS topic, such as arn:aws:sns:eu-west-1:123456789012:mail.',
    )
    .nullish()
    .describe('Topic that reports about its mail'),
  feedback: z
    .enum(feedbackKinds)
    .optional()
    .describe('How it reports. Default: dsn, by mail; for the kind ses, ses'),
  feedbackSecret: z
    .string()
    .max(limits.feedbackSecretChars)
    .nullish()
    .describe('Checks its webhooks; required for mailgun, sendgrid and resend. Never returned'),
};

export const providerFields = {
  ...serverFields,
  domains: z
    .array(DomainName)
    .min(1)
    .max(limits.providerDomains)
    .transform((names) => [...new Set(names)])
    .nullish()
    .describe('Sender domains that it may send for; null: all'),
  ratePerSecond: z
    .int()
    .min(1)
    .max(10_000)
    .nullish()
    .describe('Messages per second; null: no limit of its own'),
  maxMessageMb: z.int().min(1).max(40).nullish().describe('null: no limit of its own'),
  ownSigning: z.boolean().optional().describe('False: its mail gets no DKIM signature of ours'),
  enabled: z.boolean().optional().describe('False: it gets no new mail'),
};
