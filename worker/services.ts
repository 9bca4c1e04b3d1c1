import type { Logger } from 'pino';
import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { onCommitted } from '../db/commits.ts';
import { insertMailboxMessage } from '../db/emails/mailbox.ts';
import type { Metrics } from '../providers/metrics.ts';
import { createSigner, derivedTokens } from '../providers/encryption.ts';
import type { Mailer } from '../providers/mail/mailer.ts';
import { createMailer } from '../providers/mail/create-mailer.ts';
import {
  describeExecutionRun,
  listClosedExecutions,
  stopProjectRuns,
} from '../workflows/client/runs.ts';
import { tellSchedule } from '../workflows/client/schedule.ts';
import { createSharedServices } from '../services.ts';
import type { WorkersOptions } from './workers.ts';

/** Creates the services of the activities from the settings. `close` closes them. */
export async function createServices(
  config: Config,
  db: Database,
  client: Client,
  log: Logger,
  metrics?: Metrics,
) {
  // Bulk actions, imports and the sweep start thousands of runs, and nobody waits for them.
  const shared = createSharedServices(
    { config, db, client, log, ...(metrics && { metrics }) },
    { callsMax: 4 },
  );
  const mailer = createMailer(config.mail, {
    storeMessage: (message) =>
      insertMailboxMessage(db, {
        id: message.id,
        sender: message.from,
        recipient: message.to,
        subject: message.subject,
        raw: message.raw,
      }),
  });
  const services: WorkersOptions['services'] = {
    ...shared,
    mailer,
    apiUrl: config.apiUrl,
    tracking:
      config.mail.tracking === 'own'
        ? { apiUrl: config.apiUrl, sign: createSigner(config.jwtSecret, 'tracking links') }
        : null,
    optInTokensOf: (requestId) => derivedTokens(config, 'confirmation links', requestId),
    eventDelivery: config.eventDelivery,
    webhookAttemptsMax: config.webhook.attemptsMax,
    rates: {
      perSecond:
        config.mail.ratePerSecond ?? (await quotaOf(mailer, log)) ?? mailer.defaultRatePerSecond,
      perProjectPerSecond: config.mail.ratePerProjectPerSecond,
    },
    describeExecutionRun: (executionId) => describeExecutionRun(client, executionId),
    listClosedExecutions: (since) => listClosedExecutions(client, config.temporal.taskQueue, since),
    pauseOnFailures: config.mail.pauseOnFailures,
    retryMs: config.mail.retryMs,
    settleMinutes: config.mail.settleMinutes,
    unknownPolicy: config.mail.unknownPolicy,
    idempotencyTtlHours: config.idempotencyTtlHours,
    bodyRetentionDays: config.mail.bodyRetentionDays,
    securityLogDays: config.securityLogDays,
    billingRules: config.billing,
    platformFrom: config.platformFrom,
    platformDomain: config.platformDomain,
    dashboardUrl: config.dashboardUrl,
    tellSchedule: (told) => tellSchedule(client, config.temporal.taskQueue, told),
    stopProjectRuns: (projectId, options) =>
      stopProjectRuns(client, config.temporal.taskQueue, projectId, options),
  };
  onCommitted(db, (runs) => services.dispatcher.handOn(runs));
  return {
    services,
    async close(): Promise<void> {
      await shared.dispatcher.close();
      await mailer.close();
      await shared.renderer.close();
    },
  };
}

/** The account's sending quota, or null when there is none or it cannot be read now. */
async function quotaOf(mailer: Mailer, log: Logger): Promise<number | null> {
  return mailer.quotaPerSecond().catch((error: unknown) => {
    log.warn({ error }, 'The sending quota could not be read; a low rate is assumed');
    return null;
  });
}
