import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { useEngine } from '../support/engine.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { received, subscribe } from '../support/projects/subscriptions.ts';
import { atEnd, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/** Every recorded event arrives, whichever process dies meanwhile. */

const clients = 20;
const eventsOfEach = 50;
/** How long a server is stopped, in milliseconds. */
const awayMs = 5_000;
/** From the return of all parts until everything has arrived. */
const withinMs = 90_000;

async function newPort(): Promise<number> {
  const { port, release } = await claimFreePort();
  atEnd(release);
  return port;
}

describe('event subscriptions', async () => {
  const folder = await useFolder();
  const [postgresPort, temporalPort, uiPort] = [await newPort(), await newPort(), await newPort()];
  const quiet = { log: () => {} };
  const startDatabase = () =>
    startPostgres({
      dataDir: join(folder, 'postgres'),
      port: postgresPort,
      disposable: true,
      ...quiet,
    });
  const startRuns = () =>
    startTemporal({ dataDir: join(folder, 'temporal'), port: temporalPort, uiPort, ...quiet });
  let postgres = await startDatabase();
  atEnd(() => postgres.stop());
  await migrateToLatest(postgres.url);
  let temporal = await startRuns();
  atEnd(() => temporal.stop());
  const settings = {
    DATABASE_URL: postgres.url,
    WEBHOOK_ALLOW_PRIVATE: 'true',
    WEBHOOK_TIMEOUT_MS: '2000',
    RATE_LIMIT_ENABLED: 'false',
  };
  const engine = await useEngine(settings, { worker: false, temporalAddress: temporal.address });
  const there = { ...settings, TEMPORAL_ADDRESS: temporal.address };
  const receiver = await useReceiver();
  let worker: Awaited<ReturnType<typeof useWorkerProcess>>;
  let api: Awaited<ReturnType<typeof useApiProcess>>;

  /** Processes that die and restart. */
  const faults: [string, () => Promise<void>][] = [
    [
      'the worker, twice',
      async () => {
        for (const _ of [1, 2]) {
          await worker.kill();
          worker = await useWorkerProcess(engine, there);
        }
      },
    ],
    [
      'the API, twice',
      async () => {
        for (const _ of [1, 2]) {
          await api.kill();
          api = await useApiProcess(engine, there);
        }
      },
    ],
    [
      'Temporal',
      async () => {
        await temporal.stop();
        await sleep(awayMs);
        temporal = await startRuns();
      },
    ],
    [
      'PostgreSQL',
      async () => {
        await postgres.stop();
        await sleep(awayMs);
        postgres = await startDatabase();
      },
    ],
  ];

  it.each(faults)('lose nothing when %s dies', { timeout: 400_000 }, async (what, fault) => {
    // Both processes stop at the end of each test.
    worker = await useWorkerProcess(engine, there);
    api = await useApiProcess(engine, there);
    const event = what.replaceAll(/\W/g, '');
    const shop = await subscribe(engine, receiver, [event]);
    const answered = new Set<string>();
    const client = async (number: number) => {
      for (let count = 0; count < eventsOfEach;) {
        const given = { email: `${number}@${event}.test`, event, data: { count } };
        // An event without a response may or may not be recorded.
        const answer = await api.call('POST', '/v1/track', given).catch(() => null);
        if (answer?.status === 200) {
          answered.add(answer.body.data.event);
          count += 1;
        } else await sleep(100);
      }
    };
    const all = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
    await received(shop, 50, 60_000);
    await fault();
    await all;
    expect(answered.size).toBe(clients * eventsOfEach);
    const arrived = () => new Set(shop.requests().map((request) => request.event.data.id));
    const left = () => {
      const ids = arrived();
      return [...answered].filter((id) => !ids.has(id)).length;
    };
    await waitFor('all that was answered', () => left() === 0, withinMs);
    await waitFor('nothing to be left', async () => {
      const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
      return body.lag.pending === 0;
    });
  });
});
