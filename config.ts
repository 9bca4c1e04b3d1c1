import { z } from 'zod';

/** The only reader of the environment. Empty means not set; every fault is reported at once. */

const text = z.string().optional();
const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });
const flag = (fallback: boolean) =>
  z
    .string()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return fallback;
      const word = value.toLowerCase();
      if (word === 'true' || word === '1') return true;
      if (word === 'false' || word === '0') return false;
      context.addIssue({ code: 'custom', message: 'must be true or false' });
      return z.NEVER;
    });
const number = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .optional()
    .transform((value, context) => {
      if (value === undefined) return fallback;
      const parsed = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
      if (parsed >= min && parsed <= max) return parsed;
      context.addIssue({ code: 'custom', message: `must be a number from ${min} to ${max}` });
      return z.NEVER;
    });
const optionalNumber = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)
  .optional();

const Environment = z.object({
  NODE_ENV: z.string().default('development'),
  PORT: number(8080, 0, 65535),
  HOST: z.string().default('0.0.0.0'),
  API_URL: url.optional(),
  DASHBOARD_URL: url.default('http://localhost:3000'),
  LANDING_URL: url.optional(),
  DOCS_URL: url.optional(),
  JWT_SECRET: z
    .string('is required: at least 32 characters')
    .min(32, 'must have at least 32 characters'),
  DATA_ENCRYPTION_KEY: z
    .string()
    .refine((value) => Buffer.from(value, 'base64').length === 32, 'must be 32 bytes as base64')
    .optional(),
  DATABASE_URL: z
    .string('is required: a PostgreSQL URL')
    .regex(/^postgres(ql)?:\/\//, 'must be a PostgreSQL URL'),
  DATABASE_POOL_MAX: number(20, 2, 1000),
  DATABASE_MIGRATE_ON_START: flag(true),
  TRUST_PROXY: flag(false),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  REQUEST_LOGGING: flag(true),
  TEMPORAL_ADDRESS: z.string().default('localhost:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_TASK_QUEUE: z.string().default('everpost'),
  TEMPORAL_API_KEY: text,
  TEMPORAL_TLS_CERT: text,
  TEMPORAL_TLS_KEY: text,
  TEMPORAL_TLS_CA: text,
  EMAIL_WORKER_CONCURRENCY: number(16, 1, 1000),
  WORKFLOW_WORKER_CONCURRENCY: number(50, 1, 1000),
  AWS_SES_REGION: text,
  AWS_SES_ACCESS_KEY_ID: text,
  AWS_SES_SECRET_ACCESS_KEY: text,
  AWS_SES_ENDPOINT: url.optional(),
  SES_CONFIGURATION_SET: z.string().default('everpost'),
  SES_CONFIGURATION_SET_NO_TRACKING: z.string().default('everpost-no-tracking'),
  SMTP_HOST: text,
  SMTP_PORT: number(1025, 1, 65535),
  SMTP_USER: text,
  SMTP_PASSWORD: text,
  SMTP_SECURE: flag(false),
  LOCAL_MAILBOX_PUBLIC: flag(false),
  MAIL_FROM_SUBDOMAIN: z.string().default('mail'),
  DKIM_TARGET_HOST: z.string().default('dkim.amazonses.com'),
  EMAIL_RATE_LIMIT_PER_SECOND: optionalNumber,
  EMAIL_RATE_PER_PROJECT_PER_SECOND: optionalNumber,
  DELIVERY_SETTLE_MINUTES: number(15),
  DELIVERY_UNKNOWN_POLICY: z.enum(['fail', 'resend']).default('fail'),
  MAX_ATTACHMENTS_COUNT: number(10),
  MAX_ATTACHMENT_SIZE_MB: number(10),
  MAX_MESSAGE_SIZE_MB: number(40, 1),
  DISABLE_SIGNUPS: flag(false),
  RATE_LIMIT_ENABLED: flag(true),
  RATE_LIMIT_PROJECT_PER_MINUTE: number(1000, 1),
  RATE_LIMIT_IP_PER_MINUTE: number(300, 1),
  RATE_LIMIT_AUTH_PER_MINUTE: number(10, 1),
  IDEMPOTENCY_KEY_TTL_HOURS: number(24, 1),
  WEBHOOK_TIMEOUT_MS: number(10_000, 1, 60_000),
  WEBHOOK_MAX_ATTEMPTS: number(5, 1, 100),
  WEBHOOK_ALLOW_PRIVATE: flag(false),
});

/**
 * Reads and checks the settings.
 * @throws ConfigError with one line per wrong variable.
 */
export function readConfig(environment: Record<string, string | undefined>) {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`),
    );
  }
  const env = parsed.data;
  return {
    environment: env.NODE_ENV,
    port: env.PORT,
    host: env.HOST,
    apiUrl: (env.API_URL ?? `http://localhost:${env.PORT}`).replace(/\/+$/, ''),
    dashboardUrl: env.DASHBOARD_URL.replace(/\/+$/, ''),
    landingUrl: env.LANDING_URL ?? null,
    docsUrl: env.DOCS_URL ?? null,
    jwtSecret: env.JWT_SECRET,
    dataEncryptionKey: env.DATA_ENCRYPTION_KEY ?? null,
    databaseUrl: env.DATABASE_URL,
    databasePoolMax: env.DATABASE_POOL_MAX,
    databaseMigrateOnStart: env.DATABASE_MIGRATE_ON_START,
    trustProxy: env.TRUST_PROXY,
    logLevel: env.LOG_LEVEL,
    requestLogging: env.REQUEST_LOGGING,
    temporal: {
      address: env.TEMPORAL_ADDRESS,
      namespace: env.TEMPORAL_NAMESPACE,
      taskQueue: env.TEMPORAL_TASK_QUEUE,
      apiKey: env.TEMPORAL_API_KEY ?? null,
      tlsCert: env.TEMPORAL_TLS_CERT ?? null,
      tlsKey: env.TEMPORAL_TLS_KEY ?? null,
      tlsCa: env.TEMPORAL_TLS_CA ?? null,
    },
    emailWorkerConcurrency: env.EMAIL_WORKER_CONCURRENCY,
    workflowWorkerConcurrency: env.WORKFLOW_WORKER_CONCURRENCY,
    mail: mailSettings(env),
    localMailboxPublic: env.LOCAL_MAILBOX_PUBLIC,
    attachmentsMax: env.MAX_ATTACHMENTS_COUNT,
    attachmentMegabytesMax: env.MAX_ATTACHMENT_SIZE_MB,
    signupsEnabled: !env.DISABLE_SIGNUPS,
    rateLimit: {
      enabled: env.RATE_LIMIT_ENABLED,
      projectPerMinute: env.RATE_LIMIT_PROJECT_PER_MINUTE,
      ipPerMinute: env.RATE_LIMIT_IP_PER_MINUTE,
      authPerMinute: env.RATE_LIMIT_AUTH_PER_MINUTE,
    },
    idempotencyTtlHours: env.IDEMPOTENCY_KEY_TTL_HOURS,
    webhook: {
      timeoutMs: env.WEBHOOK_TIMEOUT_MS,
      attemptsMax: env.WEBHOOK_MAX_ATTEMPTS,
      allowPrivate: env.WEBHOOK_ALLOW_PRIVATE,
    },
  };
}

/** How mail leaves: SES with all three credentials, else SMTP, else the local mailbox. */
function mailSettings(env: z.output<typeof Environment>) {
  const ses =
    env.AWS_SES_REGION && env.AWS_SES_ACCESS_KEY_ID && env.AWS_SES_SECRET_ACCESS_KEY
      ? {
          region: env.AWS_SES_REGION,
          accessKeyId: env.AWS_SES_ACCESS_KEY_ID,
          secretAccessKey: env.AWS_SES_SECRET_ACCESS_KEY,
          endpoint: env.AWS_SES_ENDPOINT,
          configurationSet: env.SES_CONFIGURATION_SET,
          configurationSetNoTracking: env.SES_CONFIGURATION_SET_NO_TRACKING,
        }
      : null;
  const smtp = env.SMTP_HOST
    ? {
        host: env.SMTP_HOST,
        port: env.SMTP_PORT,
        secure: env.SMTP_SECURE,
        user: env.SMTP_USER,
        password: env.SMTP_PASSWORD,
      }
    : null;
  const local = ses === null;
  return {
    mode: ses ? ('ses' as const) : ('local' as const),
    ses,
    smtp,
    mailFromSubdomain: env.MAIL_FROM_SUBDOMAIN,
    dkimTargetHost: env.DKIM_TARGET_HOST,
    /** null: what the provider allows, see `worker/services.ts`. */
    ratePerSecond: env.EMAIL_RATE_LIMIT_PER_SECOND ?? null,
    ratePerProjectPerSecond: env.EMAIL_RATE_PER_PROJECT_PER_SECOND ?? (local ? 100 : 14),
    settleMinutes: env.DELIVERY_SETTLE_MINUTES,
    unknownPolicy: env.DELIVERY_UNKNOWN_POLICY,
    messageBytesMax: env.MAX_MESSAGE_SIZE_MB * 1024 * 1024,
  };
}

export type Config = ReturnType<typeof readConfig>;

/** The settings do not allow a start. `problems` has one line per variable. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((line) => `  ${line}`).join('\n')}`);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}
