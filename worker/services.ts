import type { Logger } from 'pino';
import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { Database } from '../db/database.ts';
import { dispatchStore } from '../db/dispatch.ts';
import { insertMailboxMessage } from '../db/mailbox.ts';
import { createMailer } from '../providers/mailer.ts';
import { createDispatcher } from '../workflows/dispatcher.ts';
import type { WorkersOptions } from './workers.ts';

/** What the activities need, made from the settings. `close` ends what was opened here. */
export function createServices(config: Config, db: Database, client: Client, log: Logger) {
  const dispatcher = createDispatcher({
    client,
    taskQueue: config.temporal.taskQueue,
    store: dispatchStore(db),
    log,
  });
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
    db,
    dispatcher,
    mailer,
    log,
    apiUrl: config.apiUrl,
    rates: {
      perSecond: config.mail.ratePerSecond,
      perProjectPerSecond: config.mail.ratePerProjectPerSecond,
    },
    settleMinutes: config.mail.settleMinutes,
    unknownPolicy: config.mail.unknownPolicy,
    idempotencyTtlHours: config.idempotencyTtlHours,
  };
  return {
    services,
    async close(): Promise<void> {
      await dispatcher.close();
      await mailer.close();
    },
  };
}
