import { randomUUID } from 'node:crypto';
import { expect, inject, it, vi } from 'vitest';
import { execute } from '../support/servers.ts';
import { atEnd, use } from '../support/use.ts';
import { connectSimulated, createSimulatedDatabase } from './database.ts';
import { createFixture } from './fixture.ts';
import { installGlobals, seededUuidV7 } from './globals.ts';
import { playHistory } from './history.ts';

/**
 * Deterministic simulation: the product's code and SQL on a virtual clock, with a simulated
 * Temporal and mail provider, while processes die. `npm run simulate` runs more of it.
 */

vi.mock('@temporalio/workflow', () => import('./workflow-runtime.ts'));
vi.mock('@temporalio/activity', () => import('./activity-runtime.ts'));
vi.mock('uuid', () => ({ v7: () => seededUuidV7() }));
// The content of a message does not matter here, and composing it takes real time.
vi.mock('../../providers/mail/mime.ts', async (original) => ({
  ...(await original<object>()),
  composeMessage: async () => Buffer.from('mail'),
}));

const seed = Number(process.env['SIMULATE_SEED'] ?? 1);
const histories = Number(process.env['SIMULATE_HISTORIES'] ?? 25);
const isVerbose = process.env['SIMULATE_VERBOSE'] === '1';

/** Histories at once, each on its own database, because each often waits for PostgreSQL. */
const parallelism = histories > 1 ? 3 : 1;

installGlobals();

/** Creates a database of the simulation, which is deleted at the end. */
async function useSimulated(template?: string) {
  const adminUrl = inject('databaseUrl');
  const name = `simulated_${randomUUID().replaceAll('-', '')}`;
  const url = await createSimulatedDatabase(adminUrl, name, template);
  atEnd(() => execute(adminUrl, `drop database if exists ${name} with (force)`));
  return { name, url };
}

async function useServer(template: string) {
  const { url } = await useSimulated(template);
  const server = use(await connectSimulated(url));
  await createFixture(server.outside);
  return server;
}

const template = await useSimulated();
const servers: Awaited<ReturnType<typeof useServer>>[] = [];
for (let worker = 0; worker < parallelism; worker++) servers.push(await useServer(template.name));

it(
  'loses nothing, does nothing twice and leaves nothing behind, whatever dies when',
  { timeout: 24 * 60 * 60_000 },
  async () => {
    const startedAt = performance.now();
    let operations = 0;
    const broken = new Map<number, string[]>();
    let next = seed;
    const play = async (server: (typeof servers)[number]) => {
      while (next < seed + histories && broken.size === 0) {
        const at = next++;
        const outcome = await playHistory(server, at, { verbose: isVerbose });
        operations += outcome.operations;
        if (isVerbose) process.stdout.write(`${outcome.lines.join('\n')}\n`);
        if (outcome.broken.length > 0) broken.set(at, outcome.broken);
      }
    };
    await Promise.all(servers.map(play));
    const seconds = (performance.now() - startedAt) / 1000;
    const played = next - seed;
    const rate = (played / seconds).toFixed(1);
    process.stdout.write(
      `${played} histories, ${operations} operations in ${seconds.toFixed(1)} s: ${rate} a second\n`,
    );
    for (const [at, what] of broken) {
      throw new Error(
        `Seed ${at} (npm run simulate -- --seed ${at} --verbose):\n${what.join('\n')}`,
      );
    }
  },
);

it('plays a seed the same way each time, on any database', async () => {
  const first = await playHistory(servers[0]!, seed + 1);
  const second = await playHistory(servers.at(-1)!, seed + 1);
  expect([second.operations, second.trace]).toEqual([first.operations, first.trace]);
});
