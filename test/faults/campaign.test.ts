import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { migrateToLatest } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { startTemporal } from '../../dev/servers/temporal.ts';
import { connectTemporal } from '../../workflows/client/connection.ts';
import { createCampaign, deleteContacts, insertContacts } from '../support/projects/campaigns.ts';
import { useCountingSink } from '../support/fakes/counting-sink.ts';
import { useEngine } from '../support/engine.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes/processes.ts';
import { sweepNow } from '../support/sweep-now.ts';
import { waitFor } from '../support/wait-for.ts';
import { atEnd, use, useFolder } from '../support/use.ts';

/**
 * A campaign under way while something breaks: nothing is lost, nobody gets two, and it is over
 * when it says so. `npm run faults` plays each fault many times, with many recipients, and prints
 * what came of it.
 */

const seeds = Number(process.env['FAULT_SEEDS'] ?? 1);
const recipients = Number(process.env['FAULT_RECIPIENTS'] ?? 600);
/** How long a campaign takes when nothing breaks, in seconds. */
const campaignSeconds = 4;

async function startServers() {
  const dataDir = await useFolder();
  const ports = [await claimFreePort(), await claimFreePort(), await claimFreePort()];
  for (const { release } of ports) atEnd(release);
  const [port = 0, temporalPort = 0, uiPort = 0] = ports.map((one) => one.port);
  const log = () => {};
  const startDatabase = () =>
    startPostgres({ dataDir: join(dataDir, 'postgres'), port, log, disposable: true });
  const startRuns = () =>
    startTemporal({ dataDir: join(dataDir, 'temporal'), port: temporalPort, uiPort, log });
  const postgres = { server: await startDatabase(), start: startDatabase };
  atEnd(() => postgres.server.stop());
  const temporal = { server: await startRuns(), start: startRuns };
  atEnd(() => temporal.server.stop());
  return { postgres, temporal };
}

const { postgres, temporal } = await startServers();
await migrateToLatest(postgres.server.url);
const sink = await useCountingSink();
const rate = String(Math.ceil(recipients / campaignSeconds));
const environment = {
  DATABASE_URL: postgres.server.url,
  TEMPORAL_ADDRESS: temporal.server.address,
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: rate,
  EMAIL_RATE_PER_PROJECT_PER_SECOND: rate,
  DELIVERY_SETTLE_MINUTES: '0',
};
const engine = await useEngine(environment, { worker: false });
const { address } = temporal.server;
const none = { apiKey: null, tlsCert: null, tlsKey: null, tlsCa: null };
const client = use(connectTemporal({ address, namespace: 'default', ...none }));
const startApi = () => startApiProcess(engine, environment);
const startWorker = () => startWorkerProcess(engine, environment);
const world = {
  postgres,
  temporal: { ...temporal, client },
  sink,
  engine,
  api: await startApi(),
  worker: await startWorker(),
  startWorker,
  startApi,
};
atEnd(() => Promise.all([world.worker.stop(), world.api.stop()]));

/** What breaks. Called when a part of the recipients have their mail. */
interface Fault {
  name: string;
  /** Set up before the campaign is sent. */
  before?: (random: () => number) => void;
  midway?: (campaignId: string) => Promise<void>;
  ends?: 'CANCELLED';
}

const act = async (id: string, action: string) => {
  const { status, body } = await world.api.call('POST', `/campaigns/${id}/${action}`, {});
  expect([status, body.error?.code]).toEqual([200, undefined]);
};

const faults: Fault[] = [
  {
    name: 'worker and API are killed',
    async midway() {
      await Promise.all([world.worker.kill(), world.api.kill()]);
      // Its claims run out after two minutes: as if they had passed.
      await world.engine.api.db
        .updateTable('email')
        .set({ lease_until: new Date(Date.now() - 1000) })
        .where('status', '=', 'SENDING')
        .execute();
      world.worker = await world.startWorker();
      world.api = await world.startApi();
    },
  },
  {
    name: 'the worker is asked to end',
    async midway() {
      expect(await world.worker.stop()).toBe('exit code 0');
      world.worker = await world.startWorker();
    },
  },
  {
    name: 'PostgreSQL is away for 12 s',
    async midway() {
      await world.postgres.server.stop();
      await sleep(12_000);
      world.postgres.server = await world.postgres.start();
    },
  },
  {
    name: 'Temporal is away for 20 s',
    async midway() {
      await world.temporal.server.stop();
      await sleep(20_000);
      world.temporal.server = await world.temporal.start();
    },
  },
  {
    name: 'the provider breaks every 100th connection after it has taken the message',
    before: () => (world.sink.faults = { dropEvery: 100 }),
  },
  {
    name: 'the provider puts off three of ten',
    // Not to the end: each try of a message comes twice as late as the one before.
    before: (random) =>
      (world.sink.faults = {
        putsOff: () => world.sink.taken < recipients * 0.7 && random() < 0.3,
      }),
  },
  { name: 'it is cancelled', midway: (id) => act(id, 'cancel'), ends: 'CANCELLED' },
  {
    name: 'it is paused for a while',
    async midway(id) {
      await act(id, 'pause');
      await sleep(1_000);
      await act(id, 'resume');
    },
  },
];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface Outcome {
  /** Messages that are said to be sent, or of which nothing is said, and that never arrived. */
  lost: number;
  duplicates: number;
  /** Times the campaign was said to be over while it was not. */
  early: number;
  /** Messages whose outcome stayed unknown, and is said to be. */
  unknown: number;
  arrived: number;
  seconds: number;
}

async function play(fault: Fault, seed: number): Promise<Outcome> {
  const { engine, sink } = world;
  const random = randomOf(seed);
  sink.faults = {};
  sink.counts.clear();
  sink.taken = 0;
  await deleteContacts(engine);
  const to = await insertContacts(engine, recipients);
  const id = await createCampaign(engine);
  fault.before?.(random);
  const startedAt = performance.now();
  await act(id, 'send');
  const from = Math.ceil(recipients * (0.05 + 0.5 * random()));
  if (fault.midway) {
    await waitFor(`${from} mails`, () => sink.taken >= from, 60_000);
    await fault.midway(id);
  }
  const early = await watchToTheEnd(id, fault.ends ?? 'SENT');
  return { ...(await outcomeOf(id, to)), early, seconds: (performance.now() - startedAt) / 1000 };
}

/** Waits until the campaign is over. Answers how often it said so too early. */
async function watchToTheEnd(id: string, end: string): Promise<number> {
  const { engine, temporal } = world;
  let early = 0;
  let sweptAt = Date.now();
  await waitFor(
    `the campaign to be ${end}`,
    async () => {
      const { rows } = await sql<{ status: string; open: number }>`
        select status, (select count(*) from email
            where campaign_id = campaign.id and status in ('PENDING', 'SENDING'))::int as open
          from campaign where id = ${id}`
        .execute(engine.api.db)
        .catch(() => ({ rows: [] }));
      const [row] = rows;
      if (row?.status === 'SENT' && row.open > 0) early += 1;
      if (row?.status === end && row.open === 0) return true;
      if (Date.now() - sweptAt > 3_000) {
        // As every half minute.
        sweptAt = Date.now();
        await sweepNow(engine, temporal.client.client).catch(() => {});
      }
      await sleep(50);
      return false;
    },
    240_000,
  );
  return early;
}

async function outcomeOf(id: string, to: readonly string[]) {
  const { engine, sink } = world;
  const rows = await engine.api.db
    .selectFrom('email')
    .select(['to_email', 'status', 'error'])
    .where('campaign_id', '=', id)
    .execute();
  const known = new Map(rows.map((row) => [row.to_email, row]));
  const isLost = (address: string) => {
    const row = known.get(address);
    if (sink.counts.has(address)) return false;
    return !row || !['delivery_unknown', 'campaign_cancelled'].includes(row.error ?? '');
  };
  const unknown = rows.filter((row) => row.error === 'delivery_unknown').length;
  const { body } = await engine.call('GET', `/campaigns/${id}/stats`);
  expect(body.data.uncertainCount).toBe(unknown);
  expect(body.data.sentCount).toBe(rows.filter((row) => row.status === 'DELIVERED').length);
  expect(rows).toHaveLength(to.length);
  return {
    lost: to.filter(isLost).length,
    duplicates: [...sink.counts.values()].filter((count) => count > 1).length,
    unknown,
    arrived: sink.counts.size,
  };
}

describe(`a campaign to ${recipients}`, () => {
  const table: Record<string, string | number>[] = [];
  afterAll(() => {
    if (seeds > 1) process.stdout.write(`${table.map((row) => JSON.stringify(row)).join('\n')}\n`);
  });

  it.each(faults)(
    'loses nothing and sends nothing twice when $name',
    async (fault) => {
      for (let seed = 1; seed <= seeds; seed++) {
        const outcome = await play(fault, seed);
        table.push({ fault: fault.name, seed, ...outcome, seconds: Math.round(outcome.seconds) });
        expect(outcome).toMatchObject({ lost: 0, duplicates: 0, early: 0 });
        if (fault.before && world.sink.faults.dropEvery) {
          // All of them are known by name.
          expect(outcome.unknown).toBe(Math.floor(world.sink.taken / 100));
        }
      }
    },
    seeds * 300_000,
  );
});
