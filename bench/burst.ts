import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from './measuring/benchmark.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, createWorkflow, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { until } from './measuring/waiting.ts';

/** Length of each window in which ended executions are counted, in seconds. */
const windowSeconds = 5;

/**
 * The rate at which very many due executions of one project start, and the wait of another project
 * meanwhile.
 */
export const burst: Benchmark = {
  summary: 'a burst of starts of one project, and another project’s execution meanwhile',
  options: {
    /** Executions that are due at once. */
    starts: '100000',
    /** Maximum seconds of measurement. The executions need not have ended by then. */
    seconds: '60',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const crowd = await createProject(stack.apiUrl);
    const neighbour = await createProject(stack.apiUrl);
    const workflowId = await createWorkflow(crowd, 'started', ['EXIT']);
    await createWorkflow(neighbour, 'started', ['EXIT']);
    for (let index = 0; index < 10; index++) await played(stack, neighbour);
    const idle: number[] = [];
    for (let index = 0; index < 20; index++) idle.push(await played(stack, neighbour));

    const starts = run.count('starts');
    await makeDue(stack, crowd, workflowId, starts);
    const ended = async () => {
      const { rows } = await stack.pool.query<{ count: number }>(
        `select count(*)::int from execution where workflow_id = $1 and status = 'EXITED'`,
        [workflowId],
      );
      return rows[0]?.count ?? 0;
    };
    await until('the first', async () => (await ended()) > 0);
    const rates: number[] = [];
    const beside: number[] = [];
    const endAt = Date.now() + run.count('seconds') * 1000;
    let before = await ended();
    while (Date.now() < endAt && before < starts) {
      const from = performance.now();
      while (performance.now() - from < windowSeconds * 1000) {
        beside.push(await played(stack, neighbour));
        await sleep(200);
      }
      const now = await ended();
      rates.push((now - before) / ((performance.now() - from) / 1000));
      before = now;
    }
    print(starts, before, rates, [idle, beside]);
  },
};

/** Runs one execution of the project. Returns the milliseconds from its event to its end. */
async function played({ pool }: Stack, project: Project): Promise<number> {
  const email = `${randomUUID()}@bench.example`;
  const from = performance.now();
  await project.call('POST', '/v1/track', { email, event: 'started' });
  const isOver = async () => {
    const { rowCount } = await pool.query(
      `select from execution join contact on contact.id = contact_id
        where contact.email = $1 and contact.project_id = $2 and execution.status = 'EXITED'`,
      [email, project.id],
    );
    return rowCount === 1;
  };
  await until('the execution', isOver, { everyMs: 5 });
  return performance.now() - from;
}

/** Inserts due executions, as events do, without sending their starts to Temporal. */
async function makeDue(
  { pool }: Stack,
  project: Project,
  workflowId: string,
  count: number,
): Promise<void> {
  await pool.query(
    `with person as (
       insert into contact (project_id, email, subscribed)
         select $1, gen_random_uuid() || '@bench.example', true from generate_series(1, $3::int)
         returning id
     ), begun as (
       insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
           current_step_id)
         select $1, workflow.id, workflow.version, workflow.name, person.id, step.id
           from person, workflow join workflow_step step on step.workflow_id = workflow.id
           where workflow.id = $2 and step.type = 'TRIGGER'
         returning id, current_step_id
     ), entered as (
       insert into step_execution (project_id, execution_id, step_id, status, completed_at)
         select $1, id, current_step_id, 'COMPLETED', clock_timestamp() from begun
     )
     insert into outbox (run_id, project_id, kind, action, due_at)
       select 'execution-' || id, $1, 'customerWorkflow', 'start', now() from begun`,
    [project.id, workflowId, count],
  );
}

function print(
  starts: number,
  ended: number,
  rates: readonly number[],
  [idle, beside]: readonly [readonly number[], readonly number[]],
): void {
  console.log(`${starts} executions due at once, ${ended} of them ended when the look was over\n`);
  printTable([
    ['', 'fewest', 'median', 'most'],
    [
      `ended a second, in ${windowSeconds} s`,
      ...[Math.min(...rates), median(rates), Math.max(...rates)].map(figure),
    ],
  ]);
  const row = (name: string, ms: readonly number[]) => [
    name,
    figure(median(ms)),
    figure(percentile(ms, 0.95)),
    figure(Math.max(...ms)),
  ];
  printTable([
    ['another project’s execution, ms', 'p50', 'p95', 'longest'],
    row('on the idle system', idle),
    row('beside the burst', beside),
  ]);
}
