import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig, settingDefaults } from '../config.ts';

const needed = {
  DATABASE_URL: 'postgres://localhost/everpost',
  JWT_SECRET: 'a secret of thirty-two characters or more',
};
const read = (environment: Record<string, string>) => readConfig({ ...needed, ...environment });

/** Returns the problems of these settings, one line for each variable. */
function problemsOf(environment: Record<string, string | undefined>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('mail', () => {
  const keys = { AWS_SES_ACCESS_KEY_ID: 'id', AWS_SES_SECRET_ACCESS_KEY: 'secret' };
  it.each([
    [{}, 'local'],
    [{ AWS_SES_REGION: 'eu-west-1' }, 'local'],
    [keys, 'local'],
    [{ ...keys, AWS_SES_REGION: 'eu-west-1' }, 'ses'],
    [{ AWS_SES_REGION: 'eu-west-1', AWS_SES_CREDENTIALS: 'default' }, 'ses'],
  ])('with %o leaves in %s mode', (environment, mode) => {
    expect(read(environment).mail.mode).toBe(mode);
  });
});

describe('the settings', () => {
  it.each([
    ['JWT_SECRET', ''],
    ['JWT_SECRET', 'ten chars.'],
    ['DATABASE_URL', ''],
    ['DATABASE_URL', 'mysql://localhost'],
    ['PORT', 'abc'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['DATABASE_POOL_MAX', '1'],
    ['API_URL', 'shop.example'],
    ['DASHBOARD_URL', 'ftp://shop.example'],
    ['RATE_LIMIT_ENABLED', 'yes'],
    ['LOG_LEVEL', 'loud'],
    ['DATA_ENCRYPTION_KEY', 'c2hvcnQ='],
    ['DATA_ENCRYPTION_KEY_PREVIOUS', 'c2hvcnQ='],
    ['JWT_SECRET_PREVIOUS', 'short'],
    ['DELIVERY_UNKNOWN_POLICY', 'hope'],
    ['STORAGE_DRIVER', 'ftp'],
    ['PLATFORM_FROM_ADDRESS', 'nobody'],
    ['MAX_ATTACHMENTS_COUNT', '-1'],
    ['S3_PUBLIC_URL', 'files'],
    ['DNS_SERVERS', 'nameserver'],
    ['TRACKING_MODE', 'both'],
    ['LOG_FILES', '0'],
    ['LOG_FILES', '1.5'],
    ['LOG_FILE_MB', '0'],
    ['LOG_FILE_MB', 'many'],
    ['METRICS_PORT', '65536'],
    ['METRICS_TOKEN', 'short'],
    ['METRICS_TOKEN', 'a token with blanks in it'],
  ])('refuse %s=%s and name it', (name, value) => {
    expect(problemsOf({ ...needed, [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^${name}(\\.0)? `)),
    ]);
  });

  it('name everything that is wrong at once', () => {
    const problems = problemsOf({ JWT_SECRET: 'short', PORT: 'abc', SMTP_SECURE: 'maybe' });
    expect(problems.map((line) => line.split(' ')[0]).toSorted()).toEqual([
      'DATABASE_URL',
      'JWT_SECRET',
      'PORT',
      'SMTP_SECURE',
    ]);
  });

  it.each([
    [{ STRIPE_SECRET_KEY: 'sk' }, ['WEBHOOK_SECRET', 'PRICE_ONBOARDING', 'PRICE_EMAIL_USAGE']],
    [
      { STRIPE_SECRET_KEY: 'sk', STRIPE_PRICE_ONBOARDING: 'a', STRIPE_PRICE_EMAIL_USAGE: 'b' },
      ['WEBHOOK_SECRET'],
    ],
  ])('refuse billing that is set up in part: %j', (environment, missing) => {
    expect(problemsOf({ ...needed, ...environment })).toEqual(
      missing.map((name) => `STRIPE_${name} is required when STRIPE_SECRET_KEY is set`),
    );
  });

  it('refuse STORAGE_DRIVER=s3 without a bucket, and half a login provider', () => {
    expect(problemsOf({ ...needed, STORAGE_DRIVER: 's3' })).toHaveLength(3);
    expect(problemsOf({ ...needed, GITHUB_OAUTH_CLIENT: 'x' })).toEqual([
      'GITHUB_OAUTH_SECRET is required when GITHUB_OAUTH_CLIENT is set',
    ]);
  });

  it('take an empty value for none', () => {
    expect(readConfig({ ...needed, PORT: '', SMTP_HOST: '' })).toMatchObject({ port: 8080 });
  });

  it.each(['true', 'TRUE', 'True', '1'])('take %s for true', (value) => {
    expect(read({ DISABLE_SIGNUPS: value }).signupsEnabled).toBe(false);
  });

  it.each(['false', 'FALSE', '0'])('take %s for false', (value) => {
    expect(read({ RATE_LIMIT_ENABLED: value }).rateLimit.enabled).toBe(false);
  });

  it('say nothing of the values that are wrong: they may be secrets', () => {
    const secret = 'hunter2hunter2';
    const problems = problemsOf({ DATABASE_URL: secret, JWT_SECRET: secret, PORT: secret });
    expect(problems).toHaveLength(3);
    expect(problems.join('\n')).not.toContain(secret);
  });
});

describe('the journal', () => {
  it('is below the data directory, unless set otherwise', () => {
    expect(read({}).journal).toEqual({ dir: './var/journal', retentionDays: 7 });
    expect(read({ EVERPOST_DATA_DIR: '/data' }).journal.dir).toBe('/data/journal');
    expect(read({ JOURNAL_DIR: '/fast' }).journal.dir).toBe('/fast');
  });

  it('is off with an empty JOURNAL_DIR', () => {
    expect(read({ JOURNAL_DIR: '' }).journal.dir).toBeNull();
  });
});

describe('where files lie', () => {
  const s3 = { S3_BUCKET: 'files', S3_ACCESS_KEY_ID: 'a', S3_ACCESS_KEY_SECRET: 'b' };

  it('is the disk below the data directory', () => {
    expect(read({}).storage).toEqual({ driver: 'local', dir: './var/uploads' });
    expect(read({ EVERPOST_DATA_DIR: '/data' }).storage).toMatchObject({ dir: '/data/uploads' });
    expect(read({ STORAGE_LOCAL_DIR: '/files' }).storage).toMatchObject({ dir: '/files' });
  });

  it('is S3 with a bucket and keys, unless set otherwise', () => {
    expect(read(s3).storage.driver).toBe('s3');
    expect(read({ ...s3, STORAGE_DRIVER: 'local' }).storage.driver).toBe('local');
    expect(read({ ...s3, STORAGE_DRIVER: 'none' }).storage).toEqual({ driver: 'none' });
  });

  it('is seen at S3_PUBLIC_URL, else at the bucket itself', () => {
    const publicUrl = (more: Record<string, string>) => {
      const { storage } = { storage: read({ ...s3, ...more }).storage };
      return storage.driver === 's3' ? storage.s3.publicUrl : null;
    };
    expect(publicUrl({ S3_PUBLIC_URL: 'https://cdn.shop.example/' })).toBe(
      'https://cdn.shop.example',
    );
    expect(publicUrl({ S3_ENDPOINT: 'http://minio:9000' })).toBe('http://minio:9000/files');
    expect(publicUrl({ S3_REGION: 'eu-west-1' })).toBe('https://files.s3.eu-west-1.amazonaws.com');
  });
});

describe('metrics', () => {
  const secret = randomBytes(32).toString('hex');
  const given = { DATABASE_URL: 'postgres://localhost/everpost', JWT_SECRET: secret };
  const production = { NODE_ENV: 'production', DASHBOARD_URL: 'https://shop.test' };
  it.each([
    [{}, { port: null, host: '127.0.0.1', token: null }],
    [{ METRICS_PORT: '0' }, { port: null }],
    [{ METRICS_PORT: '9000' }, { port: 9000, otherPorts: 0 }],
    [production, { port: 9464, otherPorts: 9 }],
    [
      { ...production, METRICS_PORT: '9464' },
      { port: 9464, otherPorts: 0 },
    ],
    [{ ...production, METRICS_PORT: '0' }, { port: null }],
  ])('with %j: %j', (more, expected) => {
    expect(readConfig({ ...given, ...more }).metrics).toMatchObject(expected);
  });
});

describe('webhooks to this machine', () => {
  const secret = randomBytes(32).toString('hex');
  const given = { DATABASE_URL: 'postgres://localhost/everpost', JWT_SECRET: secret };
  const webhook = (more: Record<string, string>) => readConfig({ ...given, ...more }).webhook;

  it.each([
    [{}, { allowPrivate: false, allowLoopback: true }],
    [{ WEBHOOK_ALLOW_PRIVATE: 'false' }, { allowPrivate: false, allowLoopback: false }],
    [{ WEBHOOK_ALLOW_PRIVATE: 'true' }, { allowPrivate: true, allowLoopback: false }],
    [{ SMTP_HOST: 'smtp.shop.test' }, { allowPrivate: false, allowLoopback: true }],
    [
      {
        NODE_ENV: 'production',
        DASHBOARD_URL: 'https://shop.test',
      },
      { allowPrivate: false, allowLoopback: false },
    ],
  ])('with %j: %j', (more, expected) => {
    expect(webhook(more)).toMatchObject(expected);
  });
});

describe('docs/configuration.md', () => {
  const text = readFileSync(path.join(import.meta.dirname, '../docs/configuration.md'), 'utf8');
  /** The rows of its tables: the variables of a row, and the documented default. */
  const rows = [...text.matchAll(/^\| (`[A-Z][^|]*) \| +([^|]*?) +\|/gm)].map(
    ([, names = '', shown = '']) => ({
      names: [...names.matchAll(/`([A-Z][A-Z0-9_]*)`/g)].map(([, name = '']) => name),
      shown,
    }),
  );
  const documented = rows.flatMap(({ names }) => names);
  const defaults = settingDefaults();
  /** Read by development tools and tests, never by API or worker. */
  const elsewhere = [
    'POSTGRES_PORT',
    'TEMPORAL_PORT',
    'TEMPORAL_UI_PORT',
    'TEMPORAL_CLI',
    'XDG_CACHE_HOME',
    'TEST_DATABASE_URL',
    'TEST_TEMPORAL_ADDRESS',
  ];
  /** Variables whose default depends on other variables; the page describes it in words. */
  const inWords = [
    'API_URL',
    'DASHBOARD_URL',
    'JOURNAL_DIR',
    'METRICS_PORT',
    'STORAGE_LOCAL_DIR',
    'STORAGE_DRIVER',
    'TRACKING_HOST',
    'TRACKING_MODE',
    'WEBHOOK_ALLOW_PRIVATE',
  ];
  const inWordsToo = [
    'DKIM_SIGNING',
    'RETURN_PATH_SPF',
    'EMAIL_RATE_LIMIT_PER_SECOND',
    'EMAIL_RATE_PER_PROJECT_PER_SECOND',
  ];

  it('names every variable once, and none that is not read', () => {
    const read = [...Object.keys(defaults), ...elsewhere];
    expect(documented.toSorted()).toEqual(read.toSorted());
  });

  it('has the actual defaults', () => {
    for (const { names, shown } of rows) {
      for (const name of names) {
        if ([...elsewhere, ...inWords, ...inWordsToo].includes(name)) continue;
        const value = defaults[name];
        const expected =
          shown === '**required**'
            ? '**required**'
            : value === undefined
              ? '–'
              : `\`${value as string | number | boolean}\``;
        expect(`${name} ${shown}`).toBe(`${name} ${expected}`);
      }
    }
    const required = rows.filter(({ shown }) => shown === '**required**');
    expect(required.flatMap(({ names }) => names).toSorted()).toEqual([
      'DATABASE_URL',
      'JWT_SECRET',
    ]);
  });
});
