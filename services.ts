import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import { dispatchStore } from './db/outbox/dispatch-store.ts';
import { createDns } from './providers/dns.ts';
import { createCipher } from './providers/encryption.ts';
import { createFiles } from './providers/files.ts';
import { createIdentities } from './providers/mail/identities.ts';
import { createPayments } from './providers/payments.ts';
import { createRenderer } from './providers/rendering/renderer.ts';
import { createDispatcher } from './workflows/client/dispatcher.ts';

/** What the handlers of the API and the activities both use. */
export type SharedServices = ReturnType<typeof createSharedServices>;

/** What a process has opened before its services are made. */
export interface Opened {
  config: Config;
  db: Database;
  client: Client;
  log: Logger;
}

/**
 * The services that the API and the worker share, from the settings. None connects to anything or
 * starts a thread before it is used.
 * @param options.callsMax calls to Temporal under way at once
 */
export function createSharedServices(
  { config, db, client, log }: Opened,
  options: { callsMax?: number } = {},
) {
  return {
    db,
    log,
    dispatcher: createDispatcher({
      client,
      taskQueue: config.temporal.taskQueue,
      store: dispatchStore(db),
      log,
      ...options,
    }),
    cipher: createCipher(config),
    dns: createDns({ servers: config.dnsServers }),
    /** null: nothing can be uploaded. */
    files: createFiles(config.storage, config.apiUrl),
    identities: createIdentities(config.mail),
    /** null: billing is off. */
    payments: config.billing && createPayments(config.billing),
    renderer: createRenderer(),
  };
}
