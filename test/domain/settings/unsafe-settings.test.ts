import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from '../../../config.ts';

/** Settings without errors and warnings. */
const safe = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://localhost/everpost',
  JWT_SECRET: randomBytes(48).toString('base64'),
  DATA_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  API_URL: 'https://api.shop.dev',
  DASHBOARD_URL: 'https://app.shop.dev',
  TRUST_PROXY: 'true',
  PLATFORM_FROM_ADDRESS: 'post@shop.dev',
};
const ses = {
  AWS_SES_REGION: 'eu-west-1',
  AWS_SES_ACCESS_KEY_ID: 'id',
  AWS_SES_SECRET_ACCESS_KEY: 'key',
};
const billing = {
  STRIPE_SECRET_KEY: 'a',
  STRIPE_WEBHOOK_SECRET: 'b',
  STRIPE_PRICE_ONBOARDING: 'c',
  STRIPE_PRICE_EMAIL_USAGE: 'd',
};

/** Returns the variables that are refused, and those with a warning. */
function judge(changed: Record<string, string>): { refused: string[]; warned: string[] } {
  const names = (sentences: readonly string[]) =>
    sentences.map((sentence) => sentence.split(' ')[0] ?? '');
  try {
    return { refused: [], warned: names(readConfig({ ...safe, ...changed }).warnings) };
  } catch (error) {
    if (error instanceof ConfigError) return { refused: names(error.problems), warned: [] };
    throw error;
  }
}

const development = { NODE_ENV: 'development' };
/** A way for reports about mail by SMTP to come in. */
const reports = {
  RETURN_PATH_DOMAIN: 'bounces.shop.dev',
  INBOUND_MIME_SECRET: randomBytes(16).toString('hex'),
};
const key = randomBytes(32).toString('base64');

describe('in production', () => {
  it.each<[string, Record<string, string>]>([
    ['API_URL', { API_URL: 'http://api.shop.dev' }],
    ['API_URL', { API_URL: 'http://10.0.0.7:8080' }],
    ['API_URL', { API_URL: 'http://localhost.shop.dev' }],
    ['DASHBOARD_URL', { DASHBOARD_URL: 'http://app.shop.dev' }],
    ['DASHBOARD_URL', { DASHBOARD_URL: '', CONSOLE: 'false' }],
    ['LANDING_URL', { LANDING_URL: 'http://shop.dev' }],
    ['DOCS_URL', { DOCS_URL: 'http://docs.shop.dev' }],
    ['STRIPE_API_BASE', { ...billing, STRIPE_API_BASE: 'http://stripe.shop.dev' }],
    [
      'AWS_SES_ENDPOINT',
      { ...ses, SNS_TOPIC_ARN: 'arn:one', AWS_SES_ENDPOINT: 'http://ses.shop.dev' },
    ],
    ['WEBHOOK_ALLOW_PRIVATE', { WEBHOOK_ALLOW_PRIVATE: 'true' }],
    ['METRICS_TOKEN', { METRICS_HOST: '0.0.0.0' }],
    ['METRICS_TOKEN', { METRICS_HOST: '::' }],
    ['METRICS_TOKEN', { METRICS_HOST: '127.0.0.1.shop.dev' }],
    ['DATA_ENCRYPTION_KEY', { JWT_SECRET: key, DATA_ENCRYPTION_KEY: key }],
    ['DATA_ENCRYPTION_KEY', { DATA_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }],
    ['DATA_ENCRYPTION_KEY', { DATA_ENCRYPTION_KEY: Buffer.alloc(32, 'ab').toString('base64') }],
    ...[
      'j'.repeat(32),
      'abcabcabdabcabcabdabcabcabdabcabcabd',
      '0123456789abcdef0123456789abcdef',
      'a secret of thirty-two characters or more',
      'ChangeMe-ChangeMe-ChangeMe-please',
      'Sup3rPassword!Sup3rPassw0rd!xyz42',
      'your-example-key-goes-here-3f9a7c1b',
    ].map((secret): [string, Record<string, string>] => ['JWT_SECRET', { JWT_SECRET: secret }]),
  ])('refuses an unsafe %s: %j; development does not', (name, changed) => {
    expect(judge(changed)).toEqual({ refused: [name], warned: [] });
    expect(judge({ ...changed, ...development })).toEqual({ refused: [], warned: [] });
  });

  it.each<[string, Record<string, string>]>([
    ['API_URL', { API_URL: '' }],
    ['API_URL', { API_URL: 'http://127.0.0.1:8080' }],
    ['API_URL', { API_URL: 'http://[::1]:8080' }],
    ['TRUST_PROXY', { TRUST_PROXY: 'false' }],
    ['LOCAL_MAILBOX_PUBLIC', { LOCAL_MAILBOX_PUBLIC: 'true' }],
    ['RATE_LIMIT_ENABLED', { RATE_LIMIT_ENABLED: 'false' }],
    ['PLATFORM_FROM_ADDRESS', { PLATFORM_FROM_ADDRESS: '' }],
  ])('starts and warns of %s: %j; development does not', (name, changed) => {
    expect(judge(changed)).toEqual({ refused: [], warned: [name] });
    expect(judge({ ...changed, ...development })).toEqual({ refused: [], warned: [] });
  });

  it.each<Record<string, string>>([
    {},
    { ...ses, SNS_TOPIC_ARN: 'arn:one' },
    { DASHBOARD_URL: 'http://localhost:3000' },
    { DASHBOARD_URL: '' },
    { ...billing, STRIPE_API_BASE: 'http://127.0.0.1:12111' },
    { AWS_SES_ENDPOINT: 'http://unused.shop.dev' },
    { LOCAL_MAILBOX_PUBLIC: 'true', SMTP_HOST: 'mail.shop.dev', ...reports },
    { PLATFORM_FROM_ADDRESS: '', DISABLE_SIGNUPS: 'true' },
    { METRICS_HOST: '0.0.0.0', METRICS_TOKEN: randomBytes(16).toString('hex') },
    { METRICS_HOST: '::1' },
    { METRICS_HOST: 'localhost' },
    { JWT_SECRET: 'correct horse battery staple magnet glue' },
  ])('has nothing to say of %j', (changed) => {
    expect(judge(changed)).toEqual({ refused: [], warned: [] });
  });

  it('takes every secret that is made as told', () => {
    for (let i = 0; i < 2_000; i += 1) {
      expect(judge({ JWT_SECRET: randomBytes(16).toString('hex') }).refused).toEqual([]);
      expect(judge({ DATA_ENCRYPTION_KEY: randomBytes(32).toString('base64') }).refused).toEqual(
        [],
      );
    }
  });

  it('names everything that is refused at once, and no value', () => {
    const changed = {
      JWT_SECRET: 'j'.repeat(32),
      API_URL: 'http://a.dev',
      WEBHOOK_ALLOW_PRIVATE: '1',
    };
    expect(judge(changed).refused.toSorted()).toEqual([
      'API_URL',
      'JWT_SECRET',
      'WEBHOOK_ALLOW_PRIVATE',
    ]);
    expect(() => readConfig({ ...safe, ...changed })).not.toThrow('jjjj');
  });
});

it('SES without SNS_TOPIC_ARN starts, and warns that feedback is not recorded', () => {
  for (const more of [{}, development, { SNS_TOPIC_ARN: ' , ' }]) {
    expect(judge({ ...ses, ...more })).toEqual({ refused: [], warned: ['SNS_TOPIC_ARN'] });
  }
});
