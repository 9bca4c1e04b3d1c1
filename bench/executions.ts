import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { executionRunId } from '../domain/runs/execution.ts';
import { type Bare, startBare } from './reference/bare.ts';
import type { BareStep } from './reference/bare-workflow.ts';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from './measuring/cpu.ts';
import { figure, median, printTable } from './measuring/numbers.ts';
import { benchSteps, type BenchStep, createProject, createWorkflow } from './measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { times, until } from './measuring/waiting.ts';

/**
 * Executions of a workflow per second, from the first event to the end of the last execution,
 * compared with plain Temporal workflows of the same shape.
 */
export const executions: Benchmark = {
  summary: 'executions of a workflow per second, against bare Temporal workflows',
  options: {
    /** Executions in a round. */
    starts: '500',
    rounds: '3',
    /** Requests, and starts of bare workflows, under way at once. */
    parallel: '32',
    steps: 'SEND_EMAIL,DELAY,SEND_EMAIL,DELAY,SEND_EMAIL',
    ...stackOptions,
  },
  async run(run) {
    const shape = readShape(run.text('steps'));
    // Mail goes by SMTP as in production, to a server that only accepts it.
    const port = String(await freePort(run));
    const stack = await startStack(run, { SMTP_HOST: '127.0.0.1', SMTP_PORT: port });
    await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: port });
    const everpost = await prepareEverpost(stack, shape);
    const bare = await startBare(run, stack);
    const plain = prepareBare(bare, bareShape(shape, null));
    const noting = prepareBare(bare, bareShape(shape, 'local'));
    const pids = { ...stack.pids, 'bare worker': bare.workerPid };
    const subjects = [
      { name: 'Everpost', subject: everpost },
      { name: reference, subject: plain },
      { name: 'bare Temporal that notes each step', subject: noting },
    ];
    console.log(`${run.text('starts')} executions of ${shape.join(', ')} in a round\n`);
    for (const { subject } of subjects) await round(run, subject, 50, pids);
    const results = subjects.map(({ name }) => ({ name, rounds: [] as Round[] }));
    for (let index = 0; index < run.count('rounds'); index++) {
      for (const [place, { subject }] of subjects.entries()) {
        results[place]?.rounds.push(await round(run, subject, run.count('starts'), pids));
      }
    }
    const histories = [];
    for (const { subject } of subjects) {
      histories.push(await readHistory(bare.client, await subject.workflowId()));
    }
    print(results, histories);
  },
};

/** A system that can run many executions of one shape. */
interface Subject {
  start(): Promise<unknown>;
  /** Counts the executions that have ended so far. */
  countEnded(): Promise<number>;
  /** Resolves when the mail of the executions has been sent, too. */
  settle(): Promise<void>;
  /** Returns the Temporal id of an ended execution. */
  workflowId(): Promise<string>;
}

interface Round {
  perSecond: number;
  /** CPU seconds of one execution, including the sending of its mail. */
  cpu: CpuSeconds;
}

function readShape(text: string): BenchStep[] {
  return text.split(',').map((word) => {
    const step = benchSteps.find((known) => known === word.trim());
    if (step) return step;
    throw new Error(`--steps takes ${benchSteps.join(', ')}, not "${word}".`);
  });
}

const reference = 'bare Temporal, same shape';

/**
 * Returns the same steps in plain Temporal: a send is an activity, a delay is a timer. `note` is
 * the step that records the beginning and the end of a timer and the end of the execution; null:
 * they are not recorded.
 */
function bareShape(shape: readonly BenchStep[], note: BareStep | null): BareStep[] {
  const noted: BareStep[] = note === null ? [] : [note];
  const steps = shape.flatMap((step): BareStep[] => {
    if (step === 'SEND_EMAIL') return ['activity'];
    if (step === 'EXIT') return noted;
    return step === 'DELAY' ? [...noted, 'second'] : [...noted, 'second', ...noted];
  });
  // Without an EXIT, another step records the end of the execution.
  const all = shape.at(-1) === 'EXIT' ? steps : [...steps, ...noted];
  // `countEnded` counts statements of the last step. A timer has none, so a local activity follows
  // it.
  return all.length > 0 && all.at(-1) !== 'second' ? all : [...all, 'local'];
}

export async function prepareEverpost(stack: Stack, shape: readonly BenchStep[]): Promise<Subject> {
  const { pool } = stack;
  const project = await createProject(stack.apiUrl);
  const workflowId = await createWorkflow(project, 'started', shape);
  // The API takes no delay below a minute, so the stored delays are changed to a second, like the
  // waits.
  await pool.query(
    `update workflow_version set graph = replace(graph::text, '"amount": 1}', '"amount": 0.016667}')::jsonb
      where workflow_id = $1`,
    [workflowId],
  );
  const query = async (sql: string) => {
    const { rows } = await pool.query<{ count: number; id: string }>(sql, [workflowId]);
    return rows[0] ?? { count: 0, id: '' };
  };
  const ended = `from execution where workflow_id = $1 and status in ('COMPLETED', 'EXITED')`;
  return {
    start: () =>
      project.call('POST', '/v1/track', {
        email: `${randomUUID()}@bench.example`,
        event: 'started',
        data: { name: 'Ada', plan: 'pro' },
      }),
    countEnded: async () => (await query(`select count(*)::int ${ended}`)).count,
    settle: () =>
      until('the mail', async () => {
        const due = await query(`select count(*)::int from email
          where project_id = (select project_id from workflow where id = $1)
            and status in ('PENDING', 'SENDING')`);
        return due.count === 0;
      }),
    workflowId: async () => executionRunId((await query(`select id ${ended} limit 1`)).id),
  };
}

function prepareBare(bare: Bare, steps: readonly BareStep[]): Subject {
  const lastStep = steps.findLastIndex((step) => step !== 'second');
  let latest = '';
  return {
    async start() {
      latest = await bare.start(steps);
    },
    countEnded: () => bare.countSteps(lastStep),
    settle: async () => undefined,
    workflowId: async () => latest,
  };
}

export async function round(
  run: BenchmarkRun,
  subject: Subject,
  count: number,
  pids: Readonly<Record<string, number>>,
): Promise<Round> {
  const cpuBefore = await readCpu(pids);
  const before = await subject.countEnded();
  const startedAt = performance.now();
  await times(count, run.count('parallel'), () => subject.start());
  await until('the executions', async () => (await subject.countEnded()) >= before + count);
  const seconds = (performance.now() - startedAt) / 1000;
  await subject.settle();
  return {
    perSecond: count / seconds,
    cpu: cpuBetween(cpuBefore, await readCpu(pids), count),
  };
}

async function readHistory(client: Client, workflowId: string) {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const info = raw.workflowExecutionInfo;
  return { events: Number(info?.historyLength ?? 0), bytes: Number(info?.historySizeBytes ?? 0) };
}

function print(
  results: readonly { name: string; rounds: readonly Round[] }[],
  histories: readonly { events: number; bytes: number }[],
): void {
  const everpost = results[0]?.rounds ?? [];
  printTable([
    ['', 'executions/s', 'Everpost is', 'history events', 'bytes'],
    ...results.map(({ name, rounds }, place) => [
      name,
      figure(median(rounds.map((round) => round.perSecond))),
      // The subjects take turns, so the ratio of a round depends little on other work of the
      // machine.
      `${figure(median(rounds.map((round, i) => (everpost[i]?.perSecond ?? 0) / round.perSecond)))} ×`,
      String(histories[place]?.events ?? ''),
      String(histories[place]?.bytes ?? ''),
    ]),
  ]);
  console.log('CPU of an execution, milliseconds (Everpost: with the delivery of its mail)\n');
  printCpu(
    results.map(({ name, rounds }) => ({ name, cpu: rounds.map((round) => round.cpu) })),
    reference,
  );
}
