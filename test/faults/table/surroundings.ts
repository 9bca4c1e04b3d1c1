import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Fault } from './faults.ts';
import { systemMail } from './jobs.ts';
import { campaign, executions, sends } from './workload.ts';
import type { World } from './world.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Faults of the environment: the disk, the clock, the mail provider. */

const clock = join(import.meta.dirname, '../../support/processes/shifted-clock.mjs');

/** The clocks of the processes jump by so much midway. */
const clockJumps = (name: string, ms: number): Fault => ({
  name,
  async before({ world }) {
    await Promise.all([...world.apis.splice(0), ...world.workers.splice(0)].map((p) => p.stop()));
    const env = { NODE_OPTIONS: `--import=${clock}`, CLOCK_JUMP_MS: String(ms) };
    world.apis.push(await world.startApi(env));
    world.workers.push(await world.startWorker(env));
  },
  breaks({ world }) {
    for (const program of [...world.apis, ...world.workers]) program.signal('SIGUSR2');
  },
  async after({ world }) {
    await Promise.all([...world.apis.splice(0), ...world.workers.splice(0)].map((p) => p.stop()));
    world.apis.push(await world.startApi());
    world.workers.push(await world.startWorker());
  },
});

/**
 * PostgreSQL's own delay before each flush of its log to the disk (`commit_delay`), at its
 * greatest: 100 ms. Every commit waits as it would for a slow disk; reads do not.
 */
async function delayFlushes({ db }: World, microseconds: number): Promise<void> {
  await sql.raw(`alter system set commit_delay = ${microseconds}`).execute(db);
  await sql`alter system set commit_siblings = 0`.execute(db);
  await sql`select pg_reload_conf()`.execute(db);
}

export const surroundings: readonly Fault[] = [
  {
    name: 'each commit of PostgreSQL 100 ms slower',
    async before({ world }) {
      await delayFlushes(world, 100_000);
    },
    async after({ world }) {
      await delayFlushes(world, 0);
    },
  },
  clockJumps('clocks of API and worker set back by an hour', -3_600_000),
  clockJumps('clocks of API and worker set forward by an hour', 3_600_000),
  {
    name: 'provider answers after 5 s',
    before: ({ world }) => void (world.sink.faults = { slowMs: 5_000 }),
    // 20 connections accept 4 mails a second.
    size: 0.2,
  },
  {
    name: 'provider refuses 1 % of the recipients',
    before: ({ world }) => void (world.sink.faults = { refuses: isOneInHundred }),
  },
  {
    name: 'provider puts off three of ten',
    before: ({ world, random, recipients }) =>
      void (world.sink.faults = {
        // Not until the end: the pause between attempts doubles.
        putsOff: () => world.sink.taken < recipients * 0.7 && random() < 0.3,
      }),
    parts: [campaign, executions, sends, systemMail],
  },
  {
    name: 'provider breaks every 100th connection after it has taken the message',
    before: ({ world }) => void (world.sink.faults = { dropEvery: 100 }),
  },
  awayForLong(),
  {
    name: 'provider away for 30 s',
    lastsMs: 30_000,
    breaks({ world }) {
      world.sink.faults = { isAway: true };
      world.lines['worker–SMTP'].cut();
      return async () => void (world.sink.faults = {});
    },
  },
];

/**
 * Time is ten times as fast for mail that waits for the provider: its times and that of the next
 * attempt are moved back during the run.
 */
function awayForLong(): Fault {
  const [everyMs, times] = [500, 10];
  let clock: NodeJS.Timeout;
  return {
    name: 'provider away for 10 minutes, at ten times the speed',
    lastsMs: 60_000,
    breaks({ world }) {
      world.sink.faults = { isAway: true };
      world.lines['worker–SMTP'].cut();
      const by = sql`make_interval(secs => ${(everyMs * (times - 1)) / 1000}::float8)`;
      clock = setInterval(() => {
        void writeMail(world.db, (tx) =>
          sql`
          with circuit as (update provider_circuit set next_probe_at = next_probe_at - ${by}),
            chunk as (update campaign_chunk set due_at = due_at - ${by} where due_at > now())
          update email set due_at = due_at - ${by}
            where status = 'PENDING' and due_at > now() and campaign_id is null`.execute(tx),
        ).catch(() => {});
      }, everyMs);
      return async () => void (world.sink.faults = {});
    },
    after: () => clearInterval(clock),
  };
}

/** Selects about one address in a hundred, always the same ones. */
function isOneInHundred(address: string): boolean {
  return createHash('sha256').update(address).digest().readUInt16BE() % 100 === 0;
}
