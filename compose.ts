import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { EngagementSettler } from './api/services/engagement-settler.ts';
import { FeedbackQueue } from './api/services/feedback-queue.ts';
import { KeyUses } from './api/services/key-uses.ts';
import { SharedLookup } from './api/services/shared-lookup.ts';
import { findKeyOwners } from './db/projects/key-lookup.ts';
import { findReportedMails } from './db/transactions/mail/reports.ts';
import { createRateLimits } from './api/services/rate-limit.ts';
import { backgroundState } from './api/services/background.ts';
import { Recent } from './api/services/recent.ts';
import { RequestLog } from './api/services/request-log.ts';
import type { Services } from './api/services/services.ts';
import { createTrackQueue } from './api/services/track-queue.ts';
import { createMailGate } from './activities/restores/mail-gate.ts';
import type { Config } from './config.ts';
import { onCommitted } from './db/commits.ts';
import { ExportSlots } from './db/contacts/export-slots.ts';
import { type Database, type OpenDatabase } from './db/database.ts';
import { findSender } from './db/domains/keys.ts';
import { recordKey, type ReturnPathSettings } from './domain/sender/sender-records.ts';
import { holdAtStart } from './db/restores/restores.ts';
import { findDatabaseId } from './db/subscriptions/cluster.ts';
import type { DatabaseWatch } from './db/watch.ts';
import { insertMailboxMessage } from './db/emails/mailbox.ts';
import { listStoredProviders } from './db/providers/providers.ts';
import { disableForReputation } from './db/transactions/projects/suspend-project.ts';
import { dispatchStore } from './workflows/client/dispatch-store.ts';
import { encryptAddressKeys } from './db/suppression/keys.ts';
import { createDns, type Dns } from './providers/dns.ts';
import { readDomainLists } from './providers/domain-lists.ts';
import { type Cipher, createCipher, createSigner, derivedTokens } from './providers/encryption.ts';
import { createClients } from './providers/engagement/clients.ts';
import { createFiles } from './providers/files.ts';
import { createReturnPaths, type ReturnPaths } from './providers/return-paths.ts';
import { openJournal } from './providers/journal/journal.ts';
import { createMailPool, type MailPool, unreportedBy } from './providers/mail-pool.ts';
import { createFeedbackReaders } from './providers/mail-providers.ts';
import { readKeyFile } from './providers/mail/dkim/keys.ts';
import type { SigningKeys } from './providers/mail/dkim/signature.ts';
import { createSigning } from './providers/mail/dkim/signing-mailer.ts';
import { createDkimThreads, type DkimThreads } from './providers/mail/dkim/threads.ts';
import { createFeedbackMailbox } from './providers/mail/feedback-mailbox.ts';
import type { Mailer } from './providers/mail/mailer.ts';
import { Metrics } from './providers/metrics/metrics.ts';
import { createOAuth } from './providers/login/oauth.ts';
import { createOidc } from './providers/login/oidc.ts';
import { createPayments } from './providers/payments/stripe.ts';
import { createDrawer } from './providers/rendering/drawer.ts';
import { createRenderer } from './providers/rendering/renderer.ts';
import { createAddressGuard } from './providers/web/address-guard.ts';
import { createWebhookSender } from './providers/web/webhook.ts';
import type { WorkersOptions } from './worker/workers.ts';
import type { Temporal } from './workflows/client/connection.ts';
import { isTemporalReady } from './workflows/client/search-attributes.ts';
import { createDispatcher } from './workflows/client/dispatcher.ts';
import {
  describeExecutionRun,
  listClosedExecutions,
  listStartedExecutions,
  signalExecution,
  startFeedbackMailbox,
  stopProjectRuns,
} from './workflows/client/runs.ts';
import { describeSweep, hasSweep, updateSchedule } from './workflows/client/schedule.ts';

/**
 * Creates, from the settings, the services that the processes pass to their handlers and
 * activities. A service connects and starts threads only when it is used, with one exception:
 * `composeWorker` may ask the mail provider for its quota.
 */

/** Connections and settings that a process has opened before its services are created. */
export interface Opened {
  config: Config;
  db: Database;
  client: Client;
  log: Logger;
  /** Absent: the process gets its own metrics. */
  metrics?: Metrics;
}

/**
 * Creates the services that the API and the worker share.
 * @param options.callsMax maximum number of concurrent calls to Temporal
 * @param options.platformKeys signs the mail of the platform, which only workers send
 */
function composeShared(
  { config, db, client, log, metrics = new Metrics() }: Opened,
  options: { callsMax?: number; platformKeys?: SigningKeys | null } = {},
) {
  const { platformKeys = null, ...calls } = options;
  const cipher = createCipher(config);
  encryptAddressKeys(db, cipher);
  const dispatcher = createDispatcher({
    client,
    taskQueue: config.temporal.taskQueue,
    store: dispatchStore(db),
    log,
    ...calls,
  });
  const dkim = createDkimThreads();
  const dns = createDns({ servers: config.dnsServers });
  const returnPaths = createReturnPaths(config, config.mail.returnPathDomain);
  return {
    db,
    log,
    metrics,
    dispatcher,
    cipher,
    dkim,
    dns,
    mailPool: composePool({ config, db }, { cipher, dkim, dns, returnPaths, platformKeys }),
    files: createFiles(config.storage, config.apiUrl),
    identities: config.mail.sender.createIdentities(config.mail),
    payments: config.billing && createPayments(config.billing),
    renderer: createRenderer(),
    returnPaths,
    webhooks: createWebhookSender(config.webhook),
  };
}

/** Creates the mail providers that a process can use. A provider connects when it is first used. */
function composePool(
  { config, db }: Pick<Opened, 'config' | 'db'>,
  services: {
    cipher: Cipher;
    dkim: DkimThreads;
    dns: Dns;
    returnPaths: ReturnPaths;
    platformKeys: SigningKeys | null;
  },
): MailPool {
  const { sender, transport, successReports, sesEndpoint } = config.mail;
  const guard = createAddressGuard({
    ...config.webhook,
    lookup: (name) => services.dns.findAddresses(name),
  });
  return createMailPool({
    ...services,
    sender,
    kind: transport,
    mailer: sender.createMailer({
      storeMessage: ({ id, from, to, subject, raw }) =>
        insertMailboxMessage(db, { id, sender: from, recipient: to, subject, raw }),
    }),
    installation: config.mail.providers,
    signing: createSigning({
      ...services,
      findSender: senderFinder(db, config.mail.returnPath),
      returnPathAt: services.returnPaths.pathAt,
    }),
    listStored: (projectId) => listStoredProviders(db, projectId),
    rules: {
      guard,
      successReports,
      hasSimulator: config.environment !== 'production',
      sesEndpointOf: (region) => (sesEndpoint?.region === region ? sesEndpoint.url : undefined),
    },
  });
}

/** Connections and settings that the API has opened before its services are created. */
export interface OpenedByApi extends Omit<Opened, 'db' | 'client'> {
  database: OpenDatabase;
  watch: DatabaseWatch;
  temporal: Temporal;
}

/** Creates the services of the API. `overrides` replace some of them. */
export function composeApi(
  { database, watch, temporal, ...opened }: OpenedByApi,
  overrides: Partial<Services> = {},
): Services {
  const { config } = opened;
  const { db, pool, shares } = database;
  const recent = new Recent();
  const startedAt = Date.now();
  const shared = composeShared({ ...opened, db, client: temporal.client });
  const settler = new EngagementSettler({ db, log: opened.log });
  const services: Services = {
    ...shared,
    config,
    clients: createClients(config.machineRules, createSigner(config.jwtSecret, 'clients')),
    settler,
    domainLists: readDomainLists(config.domainLists),
    oauth: createOAuth(config.oauth),
    oidc: new Map(config.oidc.map((provider) => [provider.id, createOidc(provider)])),
    feedbackReaders: createFeedbackReaders(),
    drawer: createDrawer(),
    rateLimits: createRateLimits(pool, config.rateLimit),
    keys: new SharedLookup((keys) => findKeyOwners(db, keys)),
    reportedMails: new SharedLookup((ids) => findReportedMails(db, ids)),
    keyUses: new KeyUses(db, opened.log),
    requestLog: config.requestLog.days === 0 ? null : new RequestLog(shared),
    feedback: new FeedbackQueue({
      db,
      shares,
      judge: config.autoProjectDisable ? disableForReputation : null,
      isUnreported: unreportedBy(shared.mailPool),
      onRequests: () => settler.expect(),
    }),
    tracking: createTrackQueue(shares),
    shares,
    exports: new ExportSlots(config.databasePoolMax),
    recent,
    databaseAnswers: () => watch.answers(),
    temporalAnswers: () => recent.get('temporal', () => isTemporalReady(temporal)),
    background: () =>
      recent.get('background', async () =>
        backgroundState({
          hasSchedule: await hasSweep(temporal.client, config.temporal.taskQueue),
          ...(await watch.readBackground()),
          uptimeMs: Date.now() - startedAt,
        }),
      ),
    stopping: new AbortController().signal,
    ...overrides,
  };
  onCommitted(db, (runs) => services.dispatcher.dispatch(runs));
  return services;
}

/**
 * Creates the services of the activities. `close` closes them.
 * @param opened.onOtherServer calls back when the pool has connected to another database server
 */
export async function composeWorker(
  opened: Opened & { onOtherServer?: OpenDatabase['onOtherServer'] },
): Promise<{
  services: WorkersOptions['services'];
  /** Names of the circuit breakers of the installation's mail providers. */
  circuits: readonly string[];
  close(): Promise<void>;
}> {
  const { config, db, client, log } = opened;
  // The worker makes fewer concurrent calls to Temporal than the API. Bulk actions, imports and the
  // sweep start thousands of runs, but no request waits for these runs.
  const shared = composeShared(opened, { callsMax: 4, platformKeys: platformKeys(config) });
  const { mailer } = shared.mailPool.default;
  const { taskQueue } = config.temporal;
  const journal = await openJournal(config.journal, {
    database: await findDatabaseId(db),
    log,
    countFailure: () => shared.metrics.countJournalFailure(),
  });
  const readSweeps = () => describeSweep(client, taskQueue);
  const mailGate = createMailGate({ db, log, describeSweep: readSweeps });
  opened.onOtherServer?.(mailGate.close);
  await holdAtStart(db, config.mail.hold);
  const services: WorkersOptions['services'] = {
    ...shared,
    mailer,
    mailGate,
    routes: config.mail.routes,
    journal,
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
    listStartedExecutions: (since) => listStartedExecutions(client, taskQueue, since),
    signalExecution: (executionId) => signalExecution(client, executionId),
    listClosedExecutions: (since) => listClosedExecutions(client, taskQueue, since),
    pauseOnFailures: config.mail.pauseOnFailures,
    retryMs: config.mail.retryMs,
    settleMinutes: config.mail.settleMinutes,
    unknownPolicy: config.mail.unknownPolicy,
    idempotencyTtlHours: config.idempotencyTtlHours,
    bodyRetentionDays: config.mail.bodyRetentionDays,
    securityLogDays: config.securityLogDays,
    requestLogDays: config.requestLog.days,
    billingRules: config.billing,
    platformFrom: config.platformFrom,
    platformDomain: config.platformDomain,
    dashboardUrl: config.dashboardUrl,
    judge: config.autoProjectDisable ? disableForReputation : null,
    isUnreported: unreportedBy(shared.mailPool),
    feedbackMailbox: config.mail.incoming.imap && {
      mailbox: createFeedbackMailbox(config.mail.incoming.imap),
      everyMs: config.mail.incoming.imap.seconds * 1000,
    },
    startFeedbackMailbox:
      config.mail.incoming.imap && (() => startFeedbackMailbox(client, taskQueue)),
    describeSweep: readSweeps,
    updateSchedule: (update) => updateSchedule(client, taskQueue, update),
    stopProjectRuns: (projectId, options) => stopProjectRuns(client, taskQueue, projectId, options),
  };
  onCommitted(db, (runs) => services.dispatcher.dispatch(runs));
  return {
    services,
    circuits: shared.mailPool.installation.map((provider) => provider.mailer.provider),
    async close() {
      await shared.dispatcher.close();
      await shared.mailPool.close();
      journal.close();
      await shared.renderer.close();
      await shared.dkim.close();
    },
  };
}

/** Returns a function that finds the signing keys of a sender domain, and its own return path. */
function senderFinder(db: Database, { host, subdomain }: ReturnPathSettings) {
  return async (projectId: string, domain: string) => {
    const name = `${subdomain}.${domain}`;
    const returnPath = recordKey({ type: 'MX', name });
    const { keys, hasReturnPath } = await findSender(db, { projectId, domain, returnPath });
    return { keys, returnPathHost: host !== null && hasReturnPath ? name : null };
  };
}

/**
 * Reads the keys that sign mail of the platform; null: none are configured.
 * @throws Error with a sentence for the operator when the file cannot be read.
 */
function platformKeys({ mail: { platformDkim }, platformDomain }: Config): SigningKeys | null {
  if (!platformDkim || !platformDomain) return null;
  const { file, selector } = platformDkim;
  return readKeyFile(file, { selector, domain: platformDomain });
}

/**
 * Returns the sending quota of the account at the mail provider, in messages per second; null: the
 * provider has no quota, or it cannot be read now.
 */
async function quotaOf(mailer: Mailer, log: Logger): Promise<number | null> {
  return mailer.quotaPerSecond().catch((error: unknown) => {
    log.warn(
      { error },
      'The sending quota of the mail provider could not be read: mail is sent at the default rate. Restart the worker to read it again, or set EMAIL_RATE_LIMIT_PER_SECOND',
    );
    return null;
  });
}
