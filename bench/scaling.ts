import { setTimeout as sleep } from 'node:timers/promises';
import { insertContacts, measured, type Round, send } from './mail/campaign.ts';
import { prepareEverpost, round } from './executions.ts';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, readCpu } from './measuring/cpu.ts';
import { figure, printTable } from './measuring/numbers.ts';
import { createProject } from './measuring/project.ts';
import { freePort, stackOptions, startStack } from './measuring/stack.ts';

/**
 * The cost of a campaign's message and of an execution with one worker and with two. Measured on
 * Temporal's development server, and on its production server with its state in PostgreSQL.
 */
export const scaling: Benchmark = {
  summary: 'CPU of a message and of an execution, by number of workers and server of Temporal',
  options: {
    recipients: '20000',
    starts: '200',
    /** Requests under way at once. */
    parallel: '32',
    temporal: 'dev,postgresql',
    workers: '1,2',
    /** History shards of the server on PostgreSQL. */
    shards: '4',
    /** Seconds of watching at rest. */
    rest: '20',
    ...stackOptions,
  },
  async run(run) {
    const rows: Row[] = [];
    for (const kind of run.text('temporal').split(',')) {
      if (kind !== 'dev' && kind !== 'postgresql') throw new Error('--temporal=dev,postgresql');
      rows.push(...(await playOn(run, kind)));
    }
    print(rows);
  },
};

interface Row {
  name: string;
  message: Round;
  execution: Round;
  /** CPU seconds per second at rest. */
  rest: CpuSeconds;
}

async function playOn(run: BenchmarkRun, kind: keyof typeof names): Promise<Row[]> {
  const port = await freePort(run);
  const settings = { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(port) };
  const stack = await startStack(run, settings, kind === 'dev' ? null : run.count('shards'));
  const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
  const recipients = run.count('recipients');
  const project = await createProject(stack.apiUrl);
  await insertContacts(stack, project, recipients);
  const executions = await prepareEverpost(stack, ['SEND_EMAIL', 'DELAY', 'SEND_EMAIL']);
  const pids: Record<string, number> = { ...stack.pids };
  const rows: Row[] = [];
  const warmUp = await createProject(stack.apiUrl);
  await insertContacts(stack, warmUp, 1_000);
  let running = 1;
  for (const workers of run.text('workers').split(',').map(Number)) {
    for (; running < workers; running += 1) {
      const worker = await stack.startProgram(`worker-${running + 1}`, 'dist/worker/main.js');
      pids[`worker ${running + 1}`] = worker.pid ?? 0;
    }
    await send(stack, warmUp, sink, 1_000);
    await round(run, executions, 30, pids);
    const message = await measured(pids, recipients, () => send(stack, project, sink, recipients));
    const execution = await round(run, executions, run.count('starts'), pids);
    const seconds = run.count('rest', 0);
    const before = await readCpu(pids);
    await sleep(seconds * 1000);
    const rest = cpuBetween(before, await readCpu(pids), Math.max(1, seconds));
    rows.push({ name: `${names[kind]}, ${workers} worker(s)`, message, execution, rest });
  }
  await stack.stop();
  return rows;
}

const names = { dev: 'development server', postgresql: 'server on PostgreSQL' } as const;

/** The processes of a stack, with all workers together. */
const parts = ['api', 'worker', 'temporal', 'postgres'] as const;

function print(rows: readonly Row[]): void {
  const table = (title: string, pick: (row: Row) => { cpu: CpuSeconds; perSecond?: number }) => {
    console.log(`${title}\n`);
    printTable([
      ['', ...parts, 'all', 'per second'],
      ...rows.map((row) => {
        const { cpu, perSecond } = pick(row);
        const spent = parts.map((part) =>
          Object.entries(cpu)
            .filter(([name]) => name.startsWith(part))
            .reduce((sum, [, seconds]) => sum + seconds * 1000, 0),
        );
        const all = spent.reduce((sum, ms) => sum + ms, 0);
        return [row.name, ...[...spent, all].map(figure), perSecond ? figure(perSecond) : ''];
      }),
    ]);
  };
  table('CPU of a message of a campaign, milliseconds', (row) => row.message);
  table('CPU of an execution, milliseconds', (row) => row.execution);
  table('CPU of a second at rest, milliseconds', ({ rest }) => ({ cpu: rest }));
}
