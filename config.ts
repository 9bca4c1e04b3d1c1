import { z } from 'zod';
import {
  ConfigError,
  text,
  url,
  flag,
  optionalFlag,
  number,
  optionalNumber,
  listOf,
  secret,
  seconds,
  encryptionKey,
  nameServers,
  problemsOf,
} from './config-fields.ts';
import './domain/schema-texts.ts';
import { normaliseDomainName } from './domain/sender/domain-name.ts';
import { domainOf } from './domain/email-address.ts';
import { defaultTaskQueue } from './domain/runs/runs.ts';
import { warnOfDeprecated } from './domain/settings/deprecated-settings.ts';
import { judgeSettings } from './domain/settings/unsafe-settings.ts';
import { webhookAttemptsDefault } from './domain/webhook/webhook.ts';
import { incomingSettings, incomingVariables } from './providers/mail/incoming-settings.ts';
import { signingSettings, signingVariables } from './providers/mail/signing-settings.ts';
import { journalSettings, journalVariables } from './providers/journal/settings.ts';
import { metricsSettings, metricsVariables } from './providers/metrics/settings.ts';
import { logFileVariables } from './providers/log-file-settings.ts';
import { billingSettings, billingVariables } from './providers/payments/settings.ts';
import { readMachineRules } from './providers/engagement/machine-rules-file.ts';
import { signInSettings } from './providers/login/sign-in-settings.ts';
import { mailProviders, providerSettings } from './providers/mail-providers.ts';
import type { MailProvider, MailSender, TrustedTopics } from './providers/mail/provider.ts';

/**
 * Reads all settings from the environment. An empty variable counts as not set, except those in
 * `offIfEmpty`. All errors are reported at once.
 */

const databaseUrlText = 'a PostgreSQL URL, for example postgres://user:password@host:5432/everpost';

/** Kinds of mail providers that can insert their own pixel and tracked links. */
const trackers = mailProviders.flatMap(({ kind, tracks }) => (tracks ? [kind] : []));

const Environment = z.object({
  ...incomingVariables,
  ...signingVariables,
  ...metricsVariables,
  ...journalVariables,
  ...billingVariables,
  ...logFileVariables,
  NODE_ENV: z.string().default('development'),
  PORT: number(8080, 0, 65535),
  HOST: z.string().default('0.0.0.0'),
  API_URL: url.optional(),
  DASHBOARD_URL: url.optional(),
  LANDING_URL: url.optional(),
  DOCS_URL: url.optional(),
  CONSOLE: flag(true),
  JWT_SECRET: secret,
  JWT_SECRET_PREVIOUS: listOf(secret),
  DATA_ENCRYPTION_KEY: encryptionKey.optional(),
  DATA_ENCRYPTION_KEY_PREVIOUS: listOf(encryptionKey),
  DATABASE_URL: z
    .string(`is required: ${databaseUrlText}`)
    .regex(/^postgres(ql)?:\/\//, `must be ${databaseUrlText}`),
  DATABASE_POOL_MAX: number(20, 2, 1000),
  DATABASE_MIGRATE_ON_START: flag(true),
  DATABASE_LOCK_TIMEOUT_MS: number(5_000),
  DATABASE_STATEMENT_TIMEOUT_MS: number(30_000),
  DATABASE_WORKER_STATEMENT_TIMEOUT_MS: number(300_000),
  DATABASE_CONNECTION_TIMEOUT_MS: number(10_000),
  TRUST_PROXY: flag(false),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  REQUEST_LOGGING: flag(true),
  REQUEST_LOG_DAYS: number(30, 0, 3_650),
  REQUEST_LOG_TRACK_SAMPLE: number(100, 1, 1_000_000),
  TEMPORAL_ADDRESS: z.string().default('localhost:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default(defaultTaskQueue),
  TEMPORAL_UI_URL: url.optional(),
  TEMPORAL_API_KEY: text,
  TEMPORAL_TLS_CERT: text,
  TEMPORAL_TLS_KEY: text,
  TEMPORAL_TLS_CA: text,
  TEMPORAL_DEPLOYMENT_NAME: text,
  TEMPORAL_WORKER_BUILD_ID: text,
  WORKER_HEALTH_PORT: number(0, 0, 65535),
  WORKER_REPLAY_OPEN_RUNS: flag(true),
  EMAIL_WORKER_CONCURRENCY: number(16, 1, 1000),
  WORKFLOW_WORKER_CONCURRENCY: number(50, 1, 1000),
  BULK_WORKER_CONCURRENCY: number(3, 1, 1000),
  WEBHOOK_WORKER_CONCURRENCY: number(100, 1, 1000),
  EVENT_WORKER_CONCURRENCY: number(100, 1, 1000),
  MAIL_PROVIDERS_FILE: text,
  MAIL_FROM_SUBDOMAIN: z.string().default('mail'),
  DKIM_TARGET_HOST: z.string().default('dkim.amazonses.com'),
  DNS_SERVERS: nameServers.optional(),
  MACHINE_RULES_FILE: text,
  DISPOSABLE_DOMAINS_FILE: text,
  PERSONAL_DOMAINS_FILE: text,
  ALIAS_DOMAINS_FILE: text,
  EMAIL_RATE_LIMIT_PER_SECOND: optionalNumber,
  EMAIL_RATE_PER_PROJECT_PER_SECOND: optionalNumber,
  CAMPAIGN_PAUSE_ON_FAILURES: number(100),
  DELIVERY_RETRY_HOURS: number(24, 1),
  DELIVERY_SETTLE_MINUTES: number(15),
  MAIL_HOLD: flag(false),
  EMAIL_BODY_RETENTION_DAYS: number(90),
  RAMP_DAY_SECONDS: number(86_400, 1, 86_400),
  DELIVERY_UNKNOWN_POLICY: z.enum(['fail', 'resend']).default('fail'),
  TRACKING_MODE: z.enum(['own', ...trackers]).optional(),
  AUTO_PROJECT_DISABLE: flag(true),
  MAX_ATTACHMENTS_COUNT: number(10),
  MAX_ATTACHMENT_SIZE_MB: number(10),
  MAX_MESSAGE_SIZE_MB: number(40, 1),
  DISABLE_SIGNUPS: flag(false),
  RATE_LIMIT_ENABLED: flag(true),
  RATE_LIMIT_PROJECT_PER_MINUTE: number(1000, 1),
  RATE_LIMIT_IP_PER_MINUTE: number(300, 1),
  RATE_LIMIT_AUTH_PER_MINUTE: number(10, 1),
  REAUTHENTICATION_MINUTES: number(120),
  WEBAUTHN_RP_ID: z.hostname('must be a host name').optional(),
  SECURITY_LOG_RETENTION_DAYS: number(365, 1),
  IDEMPOTENCY_KEY_TTL_HOURS: number(24, 1),
  PLATFORM_FROM_ADDRESS: z.email('must be an address such as no-reply@shop.example').optional(),
  VERIFY_EMAIL_ON_SIGNUP: flag(false),
  OIDC_PROVIDERS_FILE: text,
  PASSWORD_SIGN_IN: flag(true),
  GITHUB_OAUTH_CLIENT: text,
  GITHUB_OAUTH_SECRET: text,
  GOOGLE_OAUTH_CLIENT: text,
  GOOGLE_OAUTH_SECRET: text,
  EVERPOST_DATA_DIR: z.string().default('./var'),
  STORAGE_DRIVER: z.enum(['s3', 'local', 'none']).optional(),
  STORAGE_LOCAL_DIR: text,
  UPLOAD_QUOTA_MB: number(1000),
  S3_ENDPOINT: url.optional(),
  S3_REGION: z.string().default('us-east-1'),
  S3_BUCKET: text,
  S3_ACCESS_KEY_ID: text,
  S3_ACCESS_KEY_SECRET: text,
  S3_PUBLIC_URL: url.optional(),
  S3_FORCE_PATH_STYLE: flag(true),
  WEBHOOK_TIMEOUT_MS: number(10_000, 1, 60_000),
  WEBHOOK_MAX_ATTEMPTS: number(webhookAttemptsDefault, 1, 100),
  WEBHOOK_ALLOW_PRIVATE: optionalFlag,
  EVENT_DELIVERY_RETRY_SECONDS: seconds([
    5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400,
  ]),
  EVENT_DELIVERY_FAILING_SECONDS: number(259_200, 1),
});

/** All variables, including those of mail providers, which their folders declare. */
const AllVariables = z.object({
  ...Object.assign({}, ...mailProviders.map(({ variables }) => variables)),
  ...Environment.shape,
});

/**
 * Returns the default of every variable; undefined: there is none. The two required variables get
 * example values.
 */
export function settingDefaults(): Record<string, unknown> {
  const needed = { DATABASE_URL: 'postgres://localhost/everpost', JWT_SECRET: 'x'.repeat(32) };
  const given: Record<string, unknown> = AllVariables.parse(needed);
  return Object.fromEntries(Object.keys(AllVariables.shape).map((name) => [name, given[name]]));
}

type Settings = z.output<typeof Environment>;

/** Variables that disable a feature if they are empty. */
const offIfEmpty: ReadonlySet<string> = new Set(['JOURNAL_DIR']);

/**
 * Parses the variables.
 * @throws ConfigError with one line for each invalid variable.
 */
function readEnvironment(environment: Record<string, string | undefined>): Settings {
  const given = Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => value !== undefined && (value !== '' || offIfEmpty.has(name)),
    ),
  );
  const parsed = AllVariables.safeParse(given);
  const problems = [...(parsed.error ? problemsOf(parsed.error) : []), ...missingPartners(given)];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  return parsed.data as Settings;
}

/**
 * Returns warnings about unsafe settings. @throws ConfigError with a sentence for each setting that
 * is not allowed.
 */
function refuseUnsafe(env: Settings, rules: MailProvider['rules']): string[] {
  const key = env.DATA_ENCRYPTION_KEY;
  const encryptionKey = key === undefined ? null : Buffer.from(key, 'base64').toString('latin1');
  const { refused, warned } = judgeSettings({ ...env, encryptionKey }, rules);
  if (refused.length > 0) throw new ConfigError(refused);
  return warned;
}

/**
 * Reads and checks the settings.
 * @throws ConfigError with one line for each invalid variable.
 */
export function readConfig(environment: Record<string, string | undefined>) {
  const env = readEnvironment(environment);
  const { provider, sender } = chooseMail(env);
  const apiUrl = withoutSlashes(env.API_URL ?? `http://localhost:${env.PORT}`);
  const mail = { ...mailSettings(env, provider, sender), ...providerSettings(env, environment) };
  return {
    environment: env.NODE_ENV,
    /** Warnings about unsafe settings, which a process logs at its start. */
    warnings: refuseUnsafe(env, provider.rules),
    port: env.PORT,
    host: env.HOST,
    apiUrl,
    dashboardUrl: withoutSlashes(
      env.DASHBOARD_URL ?? (env.CONSOLE ? `${apiUrl}/console` : 'http://localhost:3000'),
    ),
    landingUrl: env.LANDING_URL ?? null,
    docsUrl: env.DOCS_URL ?? null,
    /** True: the pages below `/console` are available. */
    console: env.CONSOLE,
    /** Address of the Temporal UI, for links; null: pages show run ids without a link. */
    temporalUiUrl: env.TEMPORAL_UI_URL ? withoutSlashes(env.TEMPORAL_UI_URL) : null,
    jwtSecret: env.JWT_SECRET,
    /** Previous secrets: what was signed with them is still valid. */
    jwtSecretsPrevious: env.JWT_SECRET_PREVIOUS ?? [],
    dataEncryptionKey: env.DATA_ENCRYPTION_KEY ?? null,
    /** Previous keys: what was encrypted with them can still be decrypted. */
    dataEncryptionKeysPrevious: env.DATA_ENCRYPTION_KEY_PREVIOUS ?? [],
    /**
     * Minutes after a sign-in in which irreversible requests are allowed; 0: until the session
     * ends.
     */
    reauthenticationMinutes: env.REAUTHENTICATION_MINUTES,
    /** The host for which passkeys are valid; null: the host of the dashboard. */
    webauthnRpId: env.WEBAUTHN_RP_ID ?? null,
    securityLogDays: env.SECURITY_LOG_RETENTION_DAYS,
    databaseUrl: env.DATABASE_URL,
    databasePoolMax: env.DATABASE_POOL_MAX,
    databaseMigrateOnStart: env.DATABASE_MIGRATE_ON_START,
    /** Database timeouts, in milliseconds; 0: no limit. */
    databaseTimeouts: databaseTimeouts(env),
    trustProxy: env.TRUST_PROXY,
    logLevel: env.LOG_LEVEL,
    requestLogging: env.REQUEST_LOGGING,
    /**
     * Days for which requests are kept (0: none are kept), and the sampling of tracked events: one
     * of `trackSample` is kept.
     */
    requestLog: { days: env.REQUEST_LOG_DAYS, trackSample: env.REQUEST_LOG_TRACK_SAMPLE },
    temporal: temporalSettings(env),
    /** Port on which workers answer health checks; null: none. */
    workerHealthPort: env.WORKER_HEALTH_PORT || null,
    /** Warnings about settings in use that a later version will not read. */
    deprecated: warnOfDeprecated(environment),
    /** Folder of the files of this installation. */
    dataDir: env.EVERPOST_DATA_DIR,
    metrics: metricsSettings(env, { isProduction: isProduction(env) }),
    /** True: a worker replays open runs before it starts. */
    replayOpenRuns: env.WORKER_REPLAY_OPEN_RUNS,
    emailWorkerConcurrency: env.EMAIL_WORKER_CONCURRENCY,
    workflowWorkerConcurrency: env.WORKFLOW_WORKER_CONCURRENCY,
    bulkWorkerConcurrency: env.BULK_WORKER_CONCURRENCY,
    webhookWorkerConcurrency: env.WEBHOOK_WORKER_CONCURRENCY,
    eventWorkerConcurrency: env.EVENT_WORKER_CONCURRENCY,
    /** Settings of event subscriptions. */
    eventDelivery: {
      /**
       * Seconds to wait after each failed attempt. There is one attempt more than there are waits.
       */
      retrySeconds: env.EVENT_DELIVERY_RETRY_SECONDS,
      /** Seconds for which all requests must fail before the subscription is disabled. */
      failingSeconds: env.EVENT_DELIVERY_FAILING_SECONDS,
    },
    mail,
    journal: journalSettings(env),
    /** DNS resolvers as `ip[:port]`; null: those of the system. */
    dnsServers: env.DNS_SERVERS ?? null,
    domainLists: domainListFiles(env),
    /** Rules by which opens and clicks by machines are recognised. */
    machineRules: readMachineRules(env.MACHINE_RULES_FILE),
    /** True: a project is disabled when its bounce or complaint rate becomes critical. */
    autoProjectDisable: env.AUTO_PROJECT_DISABLE,
    /** Length of a day of new warm-up ramps, in seconds. */
    rampDaySeconds: env.RAMP_DAY_SECONDS,
    attachmentsMax: env.MAX_ATTACHMENTS_COUNT,
    attachmentMegabytesMax: env.MAX_ATTACHMENT_SIZE_MB,
    signupsEnabled: !env.DISABLE_SIGNUPS,
    rateLimit: rateLimitSettings(env),
    idempotencyTtlHours: env.IDEMPOTENCY_KEY_TTL_HOURS,
    /** Sender of account mail; null: no account mail is sent, and addresses count as verified. */
    platformFrom: env.PLATFORM_FROM_ADDRESS ?? null,
    /** Domain of `platformFrom`. No project can claim it. */
    platformDomain: normaliseDomainName(domainOf(env.PLATFORM_FROM_ADDRESS ?? '')),
    verifyEmailOnSignup: env.VERIFY_EMAIL_ON_SIGNUP,
    ...signInSettings(env, environment),
    billing: billingSettings(env),
    storage: storageSettings(env),
    /** Maximum bytes of all files of a project; null: no limit. */
    uploadQuotaBytes: env.UPLOAD_QUOTA_MB === 0 ? null : env.UPLOAD_QUOTA_MB * 1024 * 1024,
    webhook: webhookSettings(env, provider),
  };
}

function temporalSettings(env: Settings) {
  return {
    address: env.TEMPORAL_ADDRESS,
    namespace: env.TEMPORAL_NAMESPACE,
    taskQueue: env.TEMPORAL_TASK_QUEUE,
    apiKey: env.TEMPORAL_API_KEY ?? null,
    tlsCert: env.TEMPORAL_TLS_CERT ?? null,
    tlsKey: env.TEMPORAL_TLS_KEY ?? null,
    tlsCa: env.TEMPORAL_TLS_CA ?? null,
    /** The worker deployment version; null: workers accept the tasks of all versions. */
    version:
      env.TEMPORAL_DEPLOYMENT_NAME && env.TEMPORAL_WORKER_BUILD_ID
        ? { deploymentName: env.TEMPORAL_DEPLOYMENT_NAME, buildId: env.TEMPORAL_WORKER_BUILD_ID }
        : null,
  };
}

function webhookSettings(env: Settings, { mode }: MailProvider) {
  const isLaptop = !isProduction(env) && mode === 'local';
  return {
    timeoutMs: env.WEBHOOK_TIMEOUT_MS,
    attemptsMax: env.WEBHOOK_MAX_ATTEMPTS,
    allowPrivate: env.WEBHOOK_ALLOW_PRIVATE === true,
    /** On a developer's machine, the receivers of webhooks usually run on the same machine. */
    allowLoopback: isLaptop && env.WEBHOOK_ALLOW_PRIVATE === undefined,
  };
}

function rateLimitSettings(env: Settings) {
  return {
    enabled: env.RATE_LIMIT_ENABLED,
    projectPerMinute: env.RATE_LIMIT_PROJECT_PER_MINUTE,
    ipPerMinute: env.RATE_LIMIT_IP_PER_MINUTE,
    authPerMinute: env.RATE_LIMIT_AUTH_PER_MINUTE,
  };
}

/** Files that replace the built-in lists, one domain per line. */
function domainListFiles(env: Settings) {
  return {
    disposable: env.DISPOSABLE_DOMAINS_FILE ?? null,
    personal: env.PERSONAL_DOMAINS_FILE ?? null,
    alias: env.ALIAS_DOMAINS_FILE ?? null,
  };
}

function databaseTimeouts(env: Settings) {
  const both = {
    lockMs: env.DATABASE_LOCK_TIMEOUT_MS,
    connectionMs: env.DATABASE_CONNECTION_TIMEOUT_MS,
  };
  return {
    api: { ...both, statementMs: env.DATABASE_STATEMENT_TIMEOUT_MS },
    worker: { ...both, statementMs: env.DATABASE_WORKER_STATEMENT_TIMEOUT_MS },
  };
}

/** Variables that require others. `needs` are the names of the required variables. */
const partners: [name: string, needs: string[]][] = [
  [
    'STRIPE_SECRET_KEY',
    ['STRIPE_WEBHOOK_SECRET', 'STRIPE_PRICE_ONBOARDING', 'STRIPE_PRICE_EMAIL_USAGE'],
  ],
  ['TEMPORAL_DEPLOYMENT_NAME', ['TEMPORAL_WORKER_BUILD_ID']],
  ['TEMPORAL_WORKER_BUILD_ID', ['TEMPORAL_DEPLOYMENT_NAME']],
  ['PLATFORM_DKIM_SELECTOR', ['PLATFORM_DKIM_KEY']],
  ['PLATFORM_DKIM_KEY', ['PLATFORM_DKIM_SELECTOR']],
  ['FEEDBACK_IMAP_HOST', ['FEEDBACK_IMAP_USER', 'FEEDBACK_IMAP_PASSWORD']],
  ['INBOUND_SMTP_TLS_CERT', ['INBOUND_SMTP_TLS_KEY']],
  ['INBOUND_SMTP_TLS_KEY', ['INBOUND_SMTP_TLS_CERT']],
  ['GITHUB_OAUTH_CLIENT', ['GITHUB_OAUTH_SECRET']],
  ['GOOGLE_OAUTH_CLIENT', ['GOOGLE_OAUTH_SECRET']],
];
const s3Needs = ['S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_ACCESS_KEY_SECRET'];

function missingPartners(given: Record<string, string | undefined>): string[] {
  const needs = given['STORAGE_DRIVER'] === 's3' ? [['STORAGE_DRIVER=s3', s3Needs] as const] : [];
  return [...partners.filter(([name]) => given[name] !== undefined), ...needs].flatMap(
    ([name, others]) =>
      others
        .filter((other) => given[other] === undefined)
        .map((other) => `${other} is required when ${name} is set`),
  );
}

/**
 * Returns the storage of uploaded files: STORAGE_DRIVER, if it is set. Otherwise S3 when its bucket
 * and keys are set, else the disk.
 */
function storageSettings(env: Settings) {
  const s3 =
    env.S3_BUCKET && env.S3_ACCESS_KEY_ID && env.S3_ACCESS_KEY_SECRET
      ? {
          endpoint: env.S3_ENDPOINT ?? null,
          region: env.S3_REGION,
          bucket: env.S3_BUCKET,
          accessKeyId: env.S3_ACCESS_KEY_ID,
          accessKeySecret: env.S3_ACCESS_KEY_SECRET,
          publicUrl: withoutSlashes(env.S3_PUBLIC_URL ?? bucketUrl(env.S3_BUCKET, env)),
          forcePathStyle: env.S3_FORCE_PATH_STYLE,
        }
      : null;
  const driver = env.STORAGE_DRIVER ?? (s3 ? 's3' : 'local');
  if (driver === 's3' && s3) return { driver, s3 } as const;
  if (driver === 'none') return { driver } as const;
  const dir = env.STORAGE_LOCAL_DIR ?? `${env.EVERPOST_DATA_DIR}/uploads`;
  return { driver: 'local', dir } as const;
}

/** Returns an address without slashes at its end, because paths are appended to it. */
function withoutSlashes(address: string): string {
  return address.endsWith('/') ? withoutSlashes(address.slice(0, -1)) : address;
}

/** Returns the default address of a publicly readable bucket. */
function bucketUrl(bucket: string, env: Settings): string {
  return env.S3_ENDPOINT
    ? `${withoutSlashes(env.S3_ENDPOINT)}/${bucket}`
    : `https://${bucket}.s3.${env.S3_REGION}.amazonaws.com`;
}

/** Returns the mail provider: the first one for which there are settings. */
function chooseMail(env: Settings): { provider: MailProvider; sender: MailSender } {
  for (const provider of mailProviders) {
    const sender = provider.configure(env, { isProduction: isProduction(env) });
    if (sender) return { provider, sender };
  }
  throw new Error('No mail provider accepts the settings. This is a bug in Everpost: report it.');
}

function mailSettings(env: Settings, { kind, mode, tracks }: MailProvider, sender: MailSender) {
  return {
    sender,
    mode,
    /** The kind of the mail provider. */
    transport: kind,
    /** Topics whose reports are accepted, by kind of provider; null: no reports are accepted. */
    trustedTopics: trustedTopics(env, kind),
    mailFromSubdomain: env.MAIL_FROM_SUBDOMAIN,
    dkimTargetHost: env.DKIM_TARGET_HOST,
    ...incomingSettings(env),
    ...signingSettings(env, sender.spfMechanism),
    /** Messages per second; null: the quota of the provider, or its default rate. */
    ratePerSecond: env.EMAIL_RATE_LIMIT_PER_SECOND ?? null,
    ratePerProjectPerSecond:
      env.EMAIL_RATE_PER_PROJECT_PER_SECOND ?? sender.defaultRatePerProjectPerSecond,
    /**
     * Number of consecutive refusals by the provider after which a campaign is paused; 0: never.
     */
    pauseOnFailures: env.CAMPAIGN_PAUSE_ON_FAILURES,
    /** Milliseconds for which mail is retried while the provider cannot take it. */
    retryMs: env.DELIVERY_RETRY_HOURS * 3_600_000,
    settleMinutes: env.DELIVERY_SETTLE_MINUTES,
    hold: env.MAIL_HOLD,
    unknownPolicy: env.DELIVERY_UNKNOWN_POLICY,
    /** 0: bodies are kept forever. */
    bodyRetentionDays: env.EMAIL_BODY_RETENTION_DAYS,
    messageBytesMax: env.MAX_MESSAGE_SIZE_MB * 1024 * 1024,
    /**
     * Software that inserts the pixel and tracked links into mail: Everpost (`own`), or a kind of
     * provider.
     */
    tracking: env.TRACKING_MODE ?? (tracks ? kind : 'own'),
  };
}

function trustedTopics(env: Settings, sending: string): Record<string, TrustedTopics | null> {
  return Object.fromEntries(
    mailProviders.map(({ kind, feedback }) => {
      const given = { isProduction: isProduction(env), isSending: kind === sending };
      return [kind, feedback?.configure(env, given) ?? null];
    }),
  );
}

const isProduction = (env: Settings) => env.NODE_ENV === 'production';

export { ConfigError };

export type Config = ReturnType<typeof readConfig>;
