import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from './measuring/cpu.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, createWorkflow, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import type { Load, LoadResult } from './measuring/track-client.ts';
import { until } from './measuring/waiting.ts';

/**
 * Acknowledged requests to /v1/track per second, half of them of new contacts, compared with
 * plain writes. Every acknowledged event is checked in the database afterwards.
 */
export const track: Benchmark = {
  summary: '/v1/track requests per second, against the same writes by SQL alone',
  options: {
    /** Requests in a round. */
    requests: '2000',
    rounds: '3',
    /** Keep-alive connections with one request under way on each. */
    parallel: '32',
    /** Number of existing contacts. */
    contacts: '500',
    /** Number of goals of the project, all with other events. */
    goals: '0',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    await insertGoals(stack, project, run.count('goals', 0));
    const workflowId = await createWorkflow(project, 'signed_up', ['EXIT']);
    const client = await stack.startProgram('track-client', 'bench/measuring/track-client.ts');
    const subjects = [
      { name: 'bare SQL', kind: 'sql', event: 'seen' },
      { name: '/v1/track', kind: 'api', event: 'seen' },
      { name: '/v1/track, new contacts start a workflow', kind: 'api', event: 'signed_up' },
    ] as const;
    console.log(
      `${run.text('requests')} requests in a round, ${run.text('parallel')} under way at once\n`,
    );
    const results = subjects.map(({ name }) => ({ name, rounds: [] as Round[] }));
    const runs = run.count('rounds') + 1;
    for (let index = 0; index < runs; index++) {
      for (const [place, { kind, event }] of subjects.entries()) {
        const load = loadOf(run, project, { kind, event, mark: `${index}-${place}` });
        const round = await play(stack, client, load);
        await verify(stack, load, round);
        await settle(stack, workflowId);
        // The first round warms up and creates the known contacts.
        if (index > 0) results[place]?.rounds.push(round);
      }
    }
    print(results);
  },
};

async function insertGoals({ pool }: Stack, { id }: Project, count: number): Promise<void> {
  await pool.query(
    `insert into goal (project_id, event_name, owner_id, window_days, touch)
      select $1, 'goal ' || n, gen_random_uuid(), 7, 'click' from generate_series(1, $2::int) n`,
    [id, count],
  );
  await pool.query('analyze goal');
}

interface Round extends LoadResult {
  /** CPU seconds of one request, until the last one was acknowledged. */
  cpu: CpuSeconds;
}

function loadOf(
  run: BenchmarkRun,
  project: Project,
  given: Pick<Load, 'kind' | 'event' | 'mark'>,
): Load {
  return {
    ...given,
    requests: run.count('requests'),
    parallel: run.count('parallel'),
    contacts: run.count('contacts'),
    projectId: project.id,
    authorization: project.publicKey,
  };
}

async function play(stack: Stack, client: ChildProcess, load: Load): Promise<Round> {
  const before = await readCpu(stack.pids);
  client.send(load);
  const [result] = (await once(client, 'message')) as [LoadResult];
  if (result.failures.length > 0) {
    throw new Error(`Not all requests were acknowledged: ${result.failures.join('\n')}`);
  }
  return { ...result, cpu: cpuBetween(before, await readCpu(stack.pids), load.requests) };
}

/** @throws Error when an acknowledged event is not in the database exactly once */
async function verify({ pool }: Stack, load: Load, { acknowledged }: LoadResult): Promise<void> {
  const { rows } = await pool.query<{ mark: string; count: number }>(
    `select data ->> 'mark' as mark, count(*)::int as count from event
      where project_id = $1 and name = $2 and data ->> 'mark' like $3 group by 1`,
    [load.projectId, load.event, `${load.mark}-%`],
  );
  const counts = new Map(rows.map((row) => [row.mark, row.count]));
  const wrong = acknowledged.filter((mark) => counts.get(mark) !== 1);
  if (wrong.length === 0 && counts.size === load.requests) return;
  throw new Error(
    `${wrong.length} of ${acknowledged.length} acknowledged events are not there exactly once.`,
  );
}

/** Waits for the executions of a round, which would slow down the next one. */
function settle({ pool }: Stack, workflowId: string): Promise<void> {
  return until('the executions', async () => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from execution
        where workflow_id = $1 and status in ('RUNNING', 'WAITING')`,
      [workflowId],
    );
    return rows[0]?.count === 0;
  });
}

function print(results: readonly { name: string; rounds: readonly Round[] }[]): void {
  const perSecond = (round: Round) => round.acknowledged.length / round.seconds;
  const bare = results[0]?.rounds ?? [];
  printTable([
    ['', 'acknowledged/s', '× bare SQL', 'p50 ms', 'p95 ms'],
    ...results.map(({ name, rounds }) => {
      // The subjects take turns, so the ratio of a round depends little on other work of the
      // machine.
      const ratios = rounds.map((round, i) => perSecond(round) / perSecond(bare[i] ?? round));
      const latencies = rounds.flatMap((round) => round.latencies);
      return [
        name,
        figure(median(rounds.map(perSecond))),
        figure(median(ratios)),
        figure(median(latencies)),
        figure(percentile(latencies, 0.95)),
      ];
    }),
  ]);
  console.log('Every acknowledged event is in the database exactly once.\n');
  console.log('CPU of a request, milliseconds\n');
  printCpu(
    results.map(({ name, rounds }) => ({ name, cpu: rounds.map((round) => round.cpu) })),
    'bare SQL',
  );
}
