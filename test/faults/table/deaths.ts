import { bulk, deletion, importing, systemMail } from './jobs.ts';
import { readFile, truncate } from 'node:fs/promises';
import { experiment, repliedExperiment, untilDecision } from './experiment.ts';
import type { Break, Fault } from './faults.ts';
import { listLeft } from './world.ts';
import type { Point } from './points.ts';
import { reports, withReceiver } from './reports.ts';
import type { Program } from '../../support/processes/processes.ts';
import { campaign, executions, type PartMaker, type Play, sends } from './workload.ts';

/** Processes and servers that are killed or stopped, at random moments and at named statements. */

const killApi: Break = async ({ world }) => {
  await Promise.all(world.apis.splice(0).map((api) => api.kill()));
  await world.runOutKeys();
  return async () => void world.apis.push(await world.startApi());
};

const killWorker: Break = async ({ world }) => {
  await Promise.all(world.workers.map((worker) => worker.kill()));
  world.workerLines.push(...world.workers.splice(0).flatMap(({ lines }) => lines));
  return async () => {
    world.workers.push(await world.startWorker());
    await world.journalsTaken();
    await world.runOutClaims();
  };
};

/**
 * Asks processes to stop, as a deploy does. Their current work may continue; `mend` waits for
 * it.
 */
const endApi: Break = async ({ world }) => {
  const ends = world.apis.splice(0).map((api) => api.stop());
  return async () => {
    const how = await Promise.all(ends);
    world.apis.push(await world.startApi());
    checkOrderly(how);
  };
};

const endWorker: Break = async ({ world }) => {
  const workers = world.workers.splice(0);
  const ends = workers.map((worker) => worker.stop());
  return async () => {
    const how = await Promise.all(ends);
    world.workerLines.push(...workers.flatMap(({ lines }) => lines));
    world.workers.push(await world.startWorker());
    checkOrderly(how);
  };
};

function checkOrderly(ends: readonly string[]): void {
  const other = ends.filter((end) => end !== 'exit code 0');
  if (other.length > 0) throw new Error(`asked to end: ${other.join(', ')}`);
}

const killTemporal: Break = ({ world }) => world.temporal.kill();
const killPostgres: Break = ({ world }) => world.postgres.kill();

const victims: readonly [name: string, breaks: Break][] = [
  ['API killed', killApi],
  ['worker killed', killWorker],
  ['Temporal killed', killTemporal],
  ['PostgreSQL killed', killPostgres],
];

/** `by`: the process that runs the statement. */
const points: readonly {
  name: string;
  by: 'API' | 'worker';
  at: Point;
  parts: readonly PartMaker[];
  surroundings?: Pick<Fault, 'before' | 'after'>;
}[] = [
  {
    name: 'the audience is frozen',
    by: 'worker',
    at: { table: 'email', when: 'insert', condition: 'new.campaign_id is not null' },
    parts: [campaign, sends],
  },
  {
    name: 'a chunk of a campaign is claimed',
    by: 'worker',
    at: {
      table: 'campaign_chunk',
      when: 'update',
      condition: 'new.attempt_id is not null and old.attempt_id is null',
    },
    parts: [campaign],
  },
  {
    name: 'the outcomes of a chunk are recorded',
    by: 'worker',
    at: { table: 'campaign_chunk', when: 'delete', condition: 'true' },
    parts: [campaign],
  },
  {
    name: 'an experiment is decided',
    by: 'worker',
    at: {
      table: 'experiment',
      when: 'update',
      condition: 'new.decided_at is not null and old.decided_at is null',
    },
    parts: [experiment],
  },
  {
    name: 'an execution starts',
    by: 'API',
    at: { table: 'execution', when: 'insert', condition: 'true' },
    parts: [executions],
  },
  {
    name: 'an event ends a wait',
    by: 'API',
    at: { table: 'wait', when: 'update', condition: 'new.event_id is not null' },
    parts: [executions],
  },
  {
    name: 'outcomes are recorded',
    by: 'worker',
    at: { table: 'email', when: 'update', condition: "new.status = 'SENT'" },
    parts: [sends],
  },
  {
    name: 'a page is imported',
    by: 'worker',
    at: {
      table: 'job',
      when: 'update',
      condition: "new.kind = 'import' and new.position > old.position and old.position > 0",
    },
    parts: [importing],
  },
  {
    name: 'a page of a bulk action is done',
    by: 'worker',
    at: {
      table: 'job',
      when: 'update',
      condition: "new.kind = 'bulk' and new.position > old.position and old.position > 0",
    },
    parts: [bulk],
  },
  {
    name: 'a project is deleted',
    by: 'worker',
    at: { table: 'contact', when: 'delete', condition: 'true' },
    parts: [deletion],
  },
  {
    name: 'a deleted project is forgotten',
    by: 'worker',
    at: { table: 'project', when: 'delete', condition: 'true' },
    parts: [deletion],
  },
  {
    name: 'system mail is claimed',
    by: 'worker',
    at: {
      table: 'system_mail',
      when: 'update',
      condition: 'new.attempt_id is not null and old.attempt_id is null',
    },
    parts: [systemMail],
  },
  {
    name: 'a report of a mail server is recorded',
    by: 'API',
    at: { table: 'report_receipt', when: 'insert', condition: 'true' },
    parts: [reports],
    surroundings: withReceiver(),
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
  { name: 'worker asked to end midway', breaks: endWorker },
  { name: 'API asked to end midway', breaks: endApi },
  { name: 'PostgreSQL away for 12 s', breaks: ({ world }) => world.postgres.away(12_000) },
  { name: 'Temporal away for 20 s', breaks: ({ world }) => world.temporal.away(20_000) },
  ...points.flatMap(({ name, by, at, parts, surroundings }) => [
    ...victims.map(([victim, breaks]) => ({
      name: `${victim} as ${name}`,
      at,
      parts,
      breaks,
      ...surroundings,
    })),
    // The statement belongs to one process; for the other it is a random moment.
    {
      name: `${by} asked to end as ${name}`,
      at,
      parts,
      breaks: by === 'API' ? endApi : endWorker,
      ...surroundings,
    },
  ]),
  ...[
    { name: 'worker killed around the decision of an experiment', parts: [experiment] },
    {
      name: 'worker killed around a decision while 1,000 replies arrive',
      parts: [repliedExperiment],
    },
  ].map(({ name, parts }) => ({
    name,
    parts,
    async breaks(play: Play) {
      await untilDecision(play);
      return killWorker(play);
    },
  })),
  {
    name: 'two workers and two APIs, one of each killed midway',
    before: startSecondOfEach,
    async breaks({ world }) {
      const [api, worker] = [world.apis.shift(), world.workers.shift()];
      await Promise.all([api?.kill(), worker?.kill()]);
      world.workerLines.push(...(worker?.lines ?? []));
      await world.runOutKeys();
      await world.journalsTaken();
      await world.runOutClaims();
    },
  },
  {
    name: 'worker killed midway, its journal cut in half',
    async breaks(play) {
      const mend = await killWorker(play);
      for (const file of await listLeft(play.world.journalDir)) {
        const used = (await readFile(file)).indexOf(0);
        await truncate(file, Math.floor(used / 2));
      }
      return mend;
    },
  },
  {
    name: 'rolling restart of two workers and two APIs',
    // Recovery takes about 25 seconds, so the work must last as long.
    size: 4,
    before: startSecondOfEach,
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
  },
];

async function startSecondOfEach({ world }: Play): Promise<void> {
  world.apis.push(await world.startApi());
  world.workers.push(await world.startWorker());
}

/** Processes that are stopped and then continue. */
export const freezes: readonly Fault[] = [
  {
    name: 'API frozen for 20 s midway',
    breaks: ({ world }) => freeze(world.apis),
    lastsMs: 20_000,
  },
  {
    name: 'worker frozen for 25 s midway',
    breaks: ({ world }) => freeze(world.workers),
    lastsMs: 25_000,
  },
  {
    name: 'two workers and two APIs, one of each frozen for 25 s midway',
    before: startSecondOfEach,
    breaks: ({ world }) => freeze([...world.apis.slice(0, 1), ...world.workers.slice(0, 1)]),
    lastsMs: 25_000,
  },
  {
    // Longer than the two minutes of a claim, so other processes have taken it over.
    name: 'two workers and two APIs, one worker frozen for 150 s midway',
    before: startSecondOfEach,
    breaks: ({ world }) => freeze(world.workers.slice(0, 1)),
    lastsMs: 150_000,
  },
];

function freeze(programs: readonly Program[]): () => Promise<void> {
  for (const program of programs) program.signal('SIGSTOP');
  return async () => {
    for (const program of programs) program.signal('SIGCONT');
  };
}

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
