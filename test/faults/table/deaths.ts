import { bulk, deletion, importing, systemMail } from './jobs.ts';
import type { Break, Fault } from './faults.ts';
import type { Point } from './points.ts';
import { waitFor } from '../../support/wait-for.ts';
import { campaign, executions, type PartMaker, type Play, sends } from './workload.ts';

/** Processes and servers that die or are stopped: midway, and at named points. */

const killApi: Break = async ({ world }) => {
  await Promise.all(world.apis.splice(0).map((api) => api.kill()));
  await world.runOutClaims();
  return async () => void world.apis.push(await world.startApi());
};

const killWorker: Break = async ({ world }) => {
  await Promise.all(world.workers.map((worker) => worker.kill()));
  world.workerLines.push(...world.workers.splice(0).flatMap(({ lines }) => lines));
  return async () => {
    await world.runOutClaims();
    world.workers.push(await world.startWorker());
  };
};

const killTemporal: Break = ({ world }) => world.temporal.kill();
const killPostgres: Break = async ({ world }) => {
  await world.postgres.kill();
  // What its clients could not free while it was away stays claimed.
  return async () => {
    const isFreed = async () => {
      await world.runOutClaims();
      return true;
    };
    await waitFor('PostgreSQL', () => isFreed().catch(() => false), 60_000);
  };
};

const victims: readonly [name: string, breaks: Break][] = [
  ['API killed', killApi],
  ['worker killed', killWorker],
  ['Temporal killed', killTemporal],
  ['PostgreSQL killed', killPostgres],
];

const points: readonly { name: string; at: Point; parts: readonly PartMaker[] }[] = [
  {
    name: 'the audience is frozen',
    at: { table: 'email', when: 'insert', condition: 'new.campaign_id is not null' },
    parts: [campaign, sends],
  },
  {
    name: 'an execution starts',
    at: { table: 'execution', when: 'insert', condition: 'true' },
    parts: [executions],
  },
  {
    name: 'an event ends a wait',
    at: { table: 'wait', when: 'update', condition: 'new.event_id is not null' },
    parts: [executions],
  },
  {
    name: 'outcomes are recorded',
    at: { table: 'email', when: 'update', condition: "new.status = 'DELIVERED'" },
    parts: [sends],
  },
  {
    name: 'a page is imported',
    at: {
      table: 'job',
      when: 'update',
      condition: "new.kind = 'import' and new.position > old.position and old.position > 0",
    },
    parts: [importing],
  },
  {
    name: 'a page of a bulk action is done',
    at: {
      table: 'job',
      when: 'update',
      condition: "new.kind = 'bulk' and new.position > old.position and old.position > 0",
    },
    parts: [bulk],
  },
  {
    name: 'a project is deleted',
    at: { table: 'contact', when: 'delete', condition: 'true' },
    parts: [deletion],
  },
  {
    name: 'system mail is claimed',
    at: {
      table: 'single_mail',
      when: 'update',
      condition: 'new.attempt_id is not null and old.attempt_id is null',
    },
    parts: [systemMail],
  },
];

export const deaths: readonly Fault[] = [
  ...victims.map(([name, breaks]) => ({
    name: `${name} midway`,
    breaks,
  })),
  {
    name: 'worker and API killed midway',
    async breaks(play) {
      const mends = await Promise.all([killWorker(play), killApi(play)]);
      return async () => {
        for (const mend of mends) await mend?.();
      };
    },
  },
  {
    name: 'worker asked to end midway',
    async breaks({ world }) {
      const ends = await Promise.all(world.workers.map((worker) => worker.stop()));
      world.workerLines.push(...world.workers.splice(0).flatMap(({ lines }) => lines));
      if (ends.some((end) => end !== 'exit code 0')) throw new Error(ends.join());
      return async () => void world.workers.push(await world.startWorker());
    },
  },
  {
    name: 'API asked to end midway',
    async breaks({ world }) {
      const ends = await Promise.all(world.apis.splice(0).map((api) => api.stop()));
      if (ends.some((end) => end !== 'exit code 0')) throw new Error(ends.join());
      return async () => void world.apis.push(await world.startApi());
    },
  },
  { name: 'PostgreSQL away for 12 s', breaks: ({ world }) => world.postgres.away(12_000) },
  { name: 'Temporal away for 20 s', breaks: ({ world }) => world.temporal.away(20_000) },
  ...points.flatMap(({ name, at, parts }) =>
    victims.map(([victim, breaks]) => ({ name: `${victim} as ${name}`, at, parts, breaks })),
  ),
  {
    name: 'two workers and two APIs, one of each killed midway',
    async before({ world }) {
      world.apis.push(await world.startApi());
      world.workers.push(await world.startWorker());
    },
    async breaks({ world }) {
      const [api, worker] = [world.apis.shift(), world.workers.shift()];
      await Promise.all([api?.kill(), worker?.kill()]);
      world.workerLines.push(...(worker?.lines ?? []));
      await world.runOutClaims();
    },
  },
  {
    name: 'rolling restart of two workers and two APIs',
    async before({ world }) {
      world.apis.push(await world.startApi());
      world.workers.push(await world.startWorker());
    },
    async breaks({ world }) {
      for (let round = 0; round < 2; round++) {
        world.apis.push(await world.startApi());
        await world.apis.shift()?.stop();
        world.workers.push(await world.startWorker());
        const left = world.workers.shift();
        await left?.stop();
        world.workerLines.push(...(left?.lines ?? []));
      }
    },
    async after({ world }) {
      await Promise.all([world.apis.pop()?.stop(), world.workers.pop()?.stop()]);
    },
  },
];

/** The owner of a campaign changes it while it is sent. */
export const owners: readonly Fault[] = [
  {
    name: 'a campaign paused for a second midway',
    parts: [campaign],
    async breaks(play) {
      await act(play, 'pause');
      return () => act(play, 'resume');
    },
    lastsMs: 1_000,
  },
  {
    name: 'a campaign cancelled midway',
    parts: [campaign],
    breaks: (play) => act(play, 'cancel'),
  },
];

async function act({ world, campaignId }: Play, action: string): Promise<void> {
  const { status, body } = await world.engine.call(
    'POST',
    `/campaigns/${campaignId}/${action}`,
    {},
  );
  if (status !== 200) throw new Error(JSON.stringify(body));
}
