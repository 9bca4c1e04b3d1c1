import { Pool } from 'undici';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from './measuring/cpu.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, type Project } from './measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { times } from './measuring/waiting.ts';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds after a round until its requests are in the log. */
const storedMs = 2_500;

/**
 * The cost of the request log. The same requests are sent in turns to an API with the log and to
 * one without. Mail is scheduled for tomorrow, so that sending it does not disturb the measurement.
 */
export const requestLog: Benchmark = {
  summary: '/v1/track and /v1/send with and without the request log',
  options: {
    /** Requests in a round. */
    requests: '2000',
    rounds: '5',
    /** Keep-alive connections with one request under way on each. */
    parallel: '16',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const apis = [
      await silentApi(run, stack),
      { name: 'log', url: stack.apiUrl, pid: stack.pids.api },
    ];
    console.log(
      `${run.text('requests')} requests in a round, ${run.text('parallel')} under way at once\n`,
    );
    for (const path of ['/v1/track', '/v1/send'] as const) {
      const results = apis.map(({ name }) => ({ name, rounds: [] as Round[] }));
      for (let index = 0; index <= run.count('rounds'); index += 1) {
        // The two APIs take turns, and each is first in every second round.
        for (const place of index % 2 === 0 ? [0, 1] : [1, 0]) {
          const round = await play(run, { path, project, api: apis[place]!, stack });
          // The first round warms up.
          if (index > 0) results[place]?.rounds.push(round);
        }
      }
      print(path, results);
    }
  },
};

interface Api {
  name: string;
  url: string;
  pid: number;
}

interface Round {
  seconds: number;
  latencies: number[];
  /** CPU seconds of one request, including its storage in the log. */
  cpu: CpuSeconds;
}

/** Starts one more API, without the log. */
async function silentApi(run: BenchmarkRun, stack: Stack): Promise<Api> {
  const port = String(await freePort(run));
  const url = `http://127.0.0.1:${port}`;
  const env = { PORT: port, API_URL: url, REQUEST_LOG_DAYS: '0' };
  const { pid = 0 } = await stack.startProgram('silent', 'dist/api/main.js', env);
  return { name: 'no log', url, pid };
}

async function play(
  run: BenchmarkRun,
  given: { path: '/v1/track' | '/v1/send'; project: Project; api: Api; stack: Stack },
): Promise<Round> {
  const { path, project, api, stack } = given;
  const connections = run.count('parallel');
  const pool = new Pool(api.url, { connections, pipelining: 1 });
  const pids = { api: api.pid, postgres: stack.pids.postgres };
  const latencies: number[] = [];
  const before = await readCpu(pids);
  const startedAt = performance.now();
  await times(run.count('requests'), connections, async (index) => {
    const askedAt = performance.now();
    const { statusCode, body } = await pool.request({
      path,
      method: 'POST',
      headers: { authorization: project.secretKey, 'content-type': 'application/json' },
      body: JSON.stringify(bodyOf(path, project, index)),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} ${statusCode}: ${text}`);
    latencies.push(performance.now() - askedAt);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  await pool.close();
  await sleep(storedMs);
  return { seconds, latencies, cpu: cpuBetween(before, await readCpu(pids), latencies.length) };
}

function bodyOf(path: '/v1/track' | '/v1/send', { sender }: Project, index: number): object {
  const email = `known-${index % 500}@bench.example`;
  if (path === '/v1/track') return { email, event: 'seen', data: { plan: 'pro' } };
  const scheduledFor = new Date(Date.now() + 86_400_000).toISOString();
  const mail = { subject: 'Your order', body: '<p>Thank you for your order.</p>' };
  return { to: email, from: sender, ...mail, scheduledFor };
}

function print(path: string, results: readonly { name: string; rounds: readonly Round[] }[]): void {
  const [reference] = results;
  const ratio = (rounds: readonly Round[], measure: (round: Round) => number) =>
    median(rounds.map((round, at) => measure(round) / measure(reference?.rounds[at] ?? round)));
  console.log(`${path}\n`);
  printTable([
    ['', 'requests/s', 'ratio', 'p50 ms', 'p95 ms', 'ratio of p95'],
    ...results.map(({ name, rounds }) => {
      const rate = ({ latencies, seconds }: Round) => latencies.length / seconds;
      const all = rounds.flatMap(({ latencies }) => latencies);
      return [
        name,
        figure(median(rounds.map(rate))),
        figure(ratio(rounds, rate)),
        figure(median(all)),
        figure(percentile(all, 0.95)),
        figure(ratio(rounds, ({ latencies }) => percentile(latencies, 0.95))),
      ];
    }),
  ]);
  console.log('CPU of a request, milliseconds\n');
  printCpu(
    results.map(({ name, rounds }) => ({ name, cpu: rounds.map(({ cpu }) => cpu) })),
    'no log',
  );
}
