import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bare, startBare } from './reference/bare.ts';
import type { Benchmark } from './measuring/benchmark.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, createWorkflow, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { until } from './measuring/waiting.ts';

/** Milliseconds of every round, by the name of the measurement. */
type Samples = Map<string, number[]>;

/** Milliseconds between two polls for a result, so no figure is more precise. */
const lookEveryMs = 2;
/** Number of first rounds that are not counted, because they compile code and open connections. */
const warmUpRounds = 3;

/**
 * Latencies of /v1/send and /v1/track on an idle system, compared with bare PostgreSQL and
 * Temporal.
 */
export const latency: Benchmark = {
  summary:
    'idle latency of /v1/send and /v1/track to the mail, against bare PostgreSQL and Temporal',
  options: {
    rounds: '50',
    /** Milliseconds of rest before each measurement. */
    pause: '200',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const bare = await startBare(run, stack);
    const project = await createProject(stack.apiUrl);
    await createWorkflow(project, 'signed_up', ['SEND_EMAIL']);
    const pause = run.count('pause');
    for (let round = 0; round < warmUpRounds; round++) {
      await playRound(new Map(), stack, bare, project, pause);
    }
    const samples: Samples = new Map();
    for (let round = 0; round < run.count('rounds'); round++) {
      await playRound(samples, stack, bare, project, pause);
    }
    print(samples);
  },
};

const reference = {
  postgres: 'PostgreSQL: insert, then select',
  temporal: 'Temporal: start to its one activity done',
};

async function playRound(
  samples: Samples,
  stack: Stack,
  bare: Bare,
  project: Project,
  pauseMs: number,
): Promise<void> {
  const newcomer = await createProject(stack.apiUrl);
  await sleep(pauseMs);
  const sql = stopwatch(samples);
  await bareRow(stack);
  sql(reference.postgres);

  await sleep(pauseMs);
  const temporal = stopwatch(samples);
  const execution = await bare.start(['activity']);
  await quickly('the bare workflow', () => bare.hasStep(execution, 0));
  temporal(reference.temporal);

  await sleep(pauseMs);
  await measureSend(samples, stack, project, '/v1/send');
  await sleep(pauseMs);
  await measureSend(samples, stack, newcomer, '/v1/send, first mail after a pause');
  await sleep(pauseMs);
  await measureTrack(samples, stack, project);
}

async function measureSend(
  samples: Samples,
  { apiUrl }: Stack,
  project: Project,
  name: string,
): Promise<void> {
  const to = `${randomUUID()}@bench.example`;
  const note = stopwatch(samples);
  await project.call('POST', '/v1/send', {
    to,
    from: project.sender,
    subject: 'Your receipt',
    body: '<p>Thank you.</p>',
  });
  note(`${name}: answered`);
  await quickly('the mail', () => isInMailbox(apiUrl, to));
  note(`${name}: in the mailbox`);
}

async function measureTrack(samples: Samples, stack: Stack, project: Project): Promise<void> {
  const email = `${randomUUID()}@bench.example`;
  const note = stopwatch(samples);
  await project.call('POST', '/v1/track', { email, event: 'signed_up', data: { plan: 'pro' } });
  note('/v1/track: answered');
  await quickly('the first step', async () => {
    const { rowCount } = await stack.pool.query('select from email where to_email = $1', [email]);
    return rowCount === 1;
  });
  note('/v1/track: first step done');
  await quickly('the mail', () => isInMailbox(stack.apiUrl, email));
  note('/v1/track: its mail in the mailbox');
}

async function bareRow({ pool }: Stack): Promise<void> {
  const id = randomUUID();
  await pool.query('insert into bare_step (execution, step) values ($1, 0)', [id]);
  await pool.query('select from bare_step where execution = $1', [id]);
}

async function isInMailbox(apiUrl: string, to: string): Promise<boolean> {
  const response = await fetch(`${apiUrl}/local/mailbox?to=${encodeURIComponent(to)}`);
  return ((await response.json()) as unknown[]).length === 1;
}

function quickly(what: string, ask: () => Promise<boolean>): Promise<void> {
  return until(what, ask, { everyMs: lookEveryMs });
}

/** Starts a stopwatch. Each call of the returned function records the milliseconds under a name. */
function stopwatch(samples: Samples): (name: string) => void {
  const startedAt = performance.now();
  return (name) => {
    const ms = performance.now() - startedAt;
    samples.set(name, [...(samples.get(name) ?? []), ms]);
  };
}

function print(samples: Samples): void {
  const of = (name: string) => samples.get(name) ?? [];
  const postgres = median(of(reference.postgres));
  const temporal = median(of(reference.temporal));
  printTable([
    ['milliseconds', 'p50', 'p95', '× PostgreSQL', '× Temporal'],
    ...[...samples].map(([name, values]) => [
      name,
      figure(median(values)),
      figure(percentile(values, 0.95)),
      figure(median(values) / postgres),
      figure(median(values) / temporal),
    ]),
  ]);
}
