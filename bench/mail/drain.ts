import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { defaultTaskQueue } from '../../domain/runs/runs.ts';
import { signalDelivery } from '../../workflows/client/runs.ts';
import { createCampaign, insertContacts } from './campaign.ts';
import { gapsOf, mostWithin } from '../measuring/arrivals.ts';
import type { Benchmark, BenchmarkRun } from '../measuring/benchmark.ts';
import { figure, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { until } from '../measuring/waiting.ts';
import type { Arrival } from '../reference/sink.ts';
import { followInsertedMail } from '../measuring/inserted-mail.ts';

/**
 * The time that a backlog takes at a quota of the provider, compared with backlog ÷ quota, and how
 * exactly the quota is kept. Measures a campaign, other mail, and both at once, where other mail
 * goes first.
 */
export const drain: Benchmark = {
  summary: "How long a backlog takes at the provider's quota, and how exactly that is kept",
  options: {
    /** Quotas in messages per second, each with a stack of its own. */
    rates: '14,200,2000',
    /** Messages of a backlog, but no more than the quota allows in `seconds`. */
    mails: '100000',
    seconds: '30',
    ...stackOptions,
  },
  async run(run) {
    const drained: Drained[] = [];
    for (const rate of ratesOf(run)) drained.push(...(await playAt(run, rate)));
    print(drained);
  },
};

interface Drained {
  name: string;
  /** The quota, in messages per second. */
  rate: number;
  /** When the backlog became due, in milliseconds since 1970. */
  startedAt: number;
  /** Times at which the messages arrived, in order. */
  times: number[];
}

/** @throws Error unless all rates are whole numbers from 1 */
function ratesOf(run: BenchmarkRun): number[] {
  const rates = run.text('rates').split(',').map(Number);
  if (rates.every((rate) => Number.isInteger(rate) && rate >= 1)) return rates;
  throw new Error(`--rates must be whole numbers from 1, not "${run.text('rates')}".`);
}

async function playAt(run: BenchmarkRun, rate: number): Promise<Drained[]> {
  const port = await freePort(run);
  const stack = await startStack(run, {
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(port),
    EMAIL_RATE_LIMIT_PER_SECOND: String(rate),
    EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  });
  const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
  const connection = await Connection.connect({ address: stack.temporalAddress });
  const client = new Client({ connection });
  const play = (backlog: Backlog) => drainBacklog({ stack, sink, client, rate }, backlog);
  // The first messages compile code and open connections, so they are not counted.
  await play({ campaign: 20, other: 20 });
  const mails = Math.min(run.count('mails'), rate * run.count('seconds'));
  const half = Math.ceil(mails / 2);
  const campaign = await play({ campaign: mails, other: 0 });
  const other = await play({ campaign: 0, other: mails });
  const both = await play({ campaign: half, other: half });
  await connection.close();
  await stack.stop();

  const row = (name: string, { startedAt, arrivals }: typeof both, of = /^/): Drained => {
    const times = arrivals.filter(({ to }) => of.test(to)).map(({ at }) => at);
    return { name: `${name}, ${rate}/s`, rate, startedAt, times };
  };
  const rows = [
    row('campaign', campaign),
    row('other mail', other),
    row('both at once', both),
    row('– of it other mail', both, /^other-/),
  ];
  const last = both.arrivals.findLastIndex(({ to }) => to.startsWith('other-'));
  const before = last + 1 - half;
  console.log(`${rate}/s: ${before} of ${half} messages of the campaign went before other mail.`);
  return rows;
}

/**
 * Number of messages of each kind that are due at once; the same number if there are both kinds.
 */
interface Backlog {
  campaign: number;
  other: number;
}

/**
 * Creates a project with a backlog and waits until the backlog is sent. Returns when each message
 * arrived.
 * @throws Error unless each message arrived once
 */
async function drainBacklog(
  { stack, sink, client, rate }: { stack: Stack; sink: ChildProcess; client: Client; rate: number },
  { campaign, other }: Backlog,
): Promise<{ startedAt: number; arrivals: Arrival[] }> {
  const project = await createProject(stack.apiUrl);
  await insertContacts(stack, project, Math.max(campaign, other));
  const id = campaign > 0 ? await createCampaign(project) : null;
  if (other > 0) await insertOtherMail(stack, project);
  const total = campaign + other;
  const before = await sunk(sink);
  sink.send('record');
  // After a rest, the saved part of the quota is at its maximum.
  await sleep(1_000);
  const startedAt = Date.now();
  // Signals the delivery's run, as the API does after its commit.
  if (other > 0) await signalDelivery(client, defaultTaskQueue, project.id);
  if (id) await project.call('POST', `/campaigns/${id}/send`, {});
  const hasArrived = async () => (await sunk(sink)) - before >= total;
  // Waits at most two minutes, and five times the expected time.
  const patience = { everyMs: 100, timeoutMs: 120_000 + (5_000 * total) / rate };
  await until(`${total} messages`, hasArrived, patience);
  await until('their outcomes', () => isRecorded(stack, project, total), patience);
  sink.send('arrivals');
  const [arrivals] = (await once(sink, 'message')) as [Arrival[]];
  const recipients = new Set(arrivals.map(({ to }) => to)).size;
  if (arrivals.length === total && recipients === total) return { startedAt, arrivals };
  throw new Error(`${arrivals.length} messages to ${recipients} of ${total} have arrived.`);
}

/** Inserts the rows that `/v1/send` would, one for each contact. */
async function insertOtherMail({ pool, databaseUrl }: Stack, project: Project): Promise<void> {
  await pool.query(
    `insert into email (project_id, contact_id, to_email, subject, body, from_email, message_class,
          source_type)
      select project_id, id, 'other-' || email, 'Your code', '<p>1234</p>', $2, 'TRANSACTIONAL',
          'TRANSACTIONAL'
        from contact where project_id = $1`,
    [project.id, project.sender],
  );
  await followInsertedMail(databaseUrl);
  await pool.query('analyze email');
}

async function sunk(sink: ChildProcess): Promise<number> {
  sink.send('count');
  const [{ messages }] = (await once(sink, 'message')) as [{ messages: number }];
  return messages;
}

async function isRecorded({ pool }: Stack, project: Project, total: number): Promise<boolean> {
  const { rows } = await pool.query<{ sent: number }>(
    'select count(sent_at)::int as sent from email where project_id = $1',
    [project.id],
  );
  return rows[0]?.sent === total;
}

function print(drained: readonly Drained[]): void {
  const factor = (value: number) => `${figure(value)} ×`;
  const lines = drained.map((one) => ({ ...one, ...figuresOf(one) }));
  console.log('\nHow long it takes: the ratio is ideal ÷ measured; ideal is backlog ÷ quota\n');
  printTable([
    ['', 'mails', 'seconds', 'ratio', '100,000 in min', 'first ms', 'longest gap ms', 'idle s'],
    ...lines.map(({ name, rate, times, seconds, laterPerSecond, firstMs, gaps, idleMs }) => [
      name,
      String(times.length),
      figure(seconds),
      factor(times.length / rate / seconds),
      figure(100_000 / laterPerSecond / 60),
      figure(firstMs),
      figure(Math.max(...gaps)),
      figure(idleMs / 1_000),
    ]),
  ]);
  console.log('How exactly the quota is kept: factors are × quota\n');
  printTable([
    ['', 'after the first s', 'most in 1 s', 'factor', 'most in 10 s', 'factor'],
    ...lines.map(({ name, rate, times, laterPerSecond }) => [
      name,
      factor(laterPerSecond / rate),
      ...[1, 10].flatMap((seconds) => {
        const most = mostWithin(times, seconds * 1_000);
        return [String(most), factor(most / seconds / rate)];
      }),
    ]),
  ]);
}

function figuresOf({ startedAt, times }: Drained) {
  const first = times[0] ?? startedAt;
  const last = times.at(-1) ?? startedAt;
  const gaps = gapsOf(times);
  // In the first second, the saved part of the quota is sent as well, so only later arrivals count.
  const later = times.filter((at) => at >= first + 1_000).length;
  return {
    seconds: (last - startedAt) / 1_000,
    firstMs: first - startedAt,
    gaps,
    /**
     * Sum of the time beyond a second in gaps between arrivals, in which a part of the quota is
     * lost.
     */
    idleMs: gaps.reduce((sum, gap) => sum + Math.max(0, gap - 1_000), 0),
    laterPerSecond: later / ((last - first) / 1_000 - 1),
  };
}
