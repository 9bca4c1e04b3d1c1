import type { Pool } from 'pg';
import type { Benchmark } from './measuring/benchmark.ts';
import { figure, median, printTable } from './measuring/numbers.ts';
import { createProject, createWorkflow, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { times, until } from './measuring/waiting.ts';

/**
 * Operations on live executions: a simulation compared with reading the workflow, a dry run
 * compared with counting its executions by SQL, and jobs compared with one statement on the same
 * rows. Also the cost of exit rules for an event.
 */
export const liveExecutions: Benchmark = {
  summary: 'simulating, dry runs, migrating and moving executions; what exit rules cost /v1/track',
  options: {
    /** Number of active executions in the dry run. */
    active: '100000',
    /** Number of executions with a run, which are migrated and then moved. */
    waiting: '1000',
    /** Requests to /v1/track in a round. */
    tracks: '1000',
    rounds: '3',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const rounds = run.count('rounds');
    printTable([
      ['', 'a second', 'one statement', 'ratio'],
      ...(await jobs(stack, project, run.count('waiting'))),
    ]);
    printTable([
      ['/v1/track', 'ms of a request', 'ratio'],
      ...(await exitRules(stack, run.count('tracks'), rounds)),
    ]);
    printTable([
      ['', 'ms', 'by hand', 'ratio'],
      await simulation(project, rounds),
      await dryRun(stack.pool, project, run.count('active'), rounds),
    ]);
  },
};

async function elapsed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** Returns the median time of some calls, in milliseconds, after one that warms up. */
async function medianOf(calls: number, work: () => Promise<unknown>): Promise<number> {
  await work();
  const spent: number[] = [];
  for (let call = 0; call < calls; call++) spent.push(await elapsed(work));
  return median(spent);
}

function compared(name: string, ms: number, reference: number): string[] {
  return [name, figure(ms), figure(reference), figure(ms / reference)];
}

/** Measures the simulation of ten mails with three days between them. */
async function simulation(project: Project, rounds: number): Promise<string[]> {
  const types = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? 'SEND_EMAIL' : 'DELAY'));
  const id = await createWorkflow(project, 'simulated', types);
  const graph = await project.call('GET', `/workflows/${id}`);
  for (const step of graph['steps'] as { id: string; type: string }[]) {
    if (step.type !== 'DELAY') continue;
    const config = { amount: 3, unit: 'days' };
    await project.call('PATCH', `/workflows/${id}/steps/${step.id}`, { config });
  }
  const contact = { email: 'a@people.test', data: { plan: 'pro' } };
  const simulate = () => project.call('POST', `/workflows/${id}/simulate`, { contact });
  const answer = (await simulate())['data'] as { emails: unknown[] };
  if (answer.emails.length !== 10) throw new Error('The simulation has not sent ten mails.');
  const calls = rounds * 20;
  const read = await medianOf(calls, () => project.call('GET', `/workflows/${id}`));
  const name = 'simulate 20 steps of 30 days; GET of the workflow';
  return compared(name, await medianOf(calls, simulate), read);
}

async function dryRun(
  pool: Pool,
  project: Project,
  active: number,
  rounds: number,
): Promise<string[]> {
  const id = await createWorkflow(project, 'dry', ['DELAY', 'EXIT']);
  await pool.query(
    `with person as (
      insert into contact (project_id, email, subscribed)
        select $1, 'dry' || n || '@people.test', true from generate_series(1, $3::int) n
        returning id, project_id
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
        status, current_step_id, next_reconcile_at)
      select person.project_id, $2, workflow.version, workflow.name, person.id, 'WAITING', step.id,
          now() + interval '1 day'
        from person, workflow
        join workflow_step step on step.workflow_id = workflow.id and step.type = 'DELAY'
        where workflow.id = $2`,
    [project.id, id, active],
  );
  await pool.query('analyze execution');
  const graph = await project.call('GET', `/workflows/${id}`);
  const exit = (graph['steps'] as { id: string; type: string }[]).find(
    (step) => step.type === 'EXIT',
  );
  await project.call('PATCH', `/workflows/${id}/steps/${exit?.id}`, { config: { reason: 'new' } });
  const byHand = `select workflow_version, current_step_id, count(*) from execution
    where workflow_id = $1 and status in ('RUNNING', 'WAITING') group by 1, 2`;
  const ms = await medianOf(rounds * 3, () => project.call('POST', `/workflows/${id}/dry-run`, {}));
  const hand = await medianOf(rounds * 3, () => pool.query(byHand, [id]));
  return compared(`dry run over ${active} executions; counted by SQL`, ms, hand);
}

async function jobs({ pool }: Stack, project: Project, count: number): Promise<string[][]> {
  const id = await createWorkflow(project, 'moved', ['DELAY', 'EXIT']);
  const path = `/workflows/${id}`;
  const graph = await project.call('GET', path);
  const steps = graph['steps'] as { id: string; type: string; config: object }[];
  const stepOf = (type: string) => steps.find((step) => step.type === type)?.id ?? '';
  const config = { amount: 30, unit: 'days' };
  await project.call('PATCH', `${path}/steps/${stepOf('DELAY')}`, { config });
  await times(count, 16, (at) =>
    project.call('POST', '/v1/track', { email: `moved${at}@people.test`, event: 'moved' }),
  );
  const inStatus = async (status: string) => {
    const query = 'select count(*)::int as n from execution where workflow_id = $1 and status = $2';
    return (await pool.query(query, [id, status])).rows[0].n === count;
  };
  await until('all to wait', () => inStatus('WAITING'));
  await project.call('PATCH', `${path}/steps/${stepOf('EXIT')}`, { config: { reason: 'moved' } });
  const ended = async (job: string) =>
    Boolean((await project.call('GET', `${path}/jobs/${job}`))['finishedAt']);
  const migrateMs = await elapsed(async () => {
    const { jobId } = await project.call('POST', `${path}/migrate`, {});
    await until('the migration', () => ended(String(jobId)));
  });
  const told = `select count(*)::int as n from outbox where project_id = $1`;
  const drainMs = await elapsed(() =>
    until(
      'the runs to be told',
      async () => (await pool.query(told, [project.id])).rows[0].n === 0,
    ),
  );
  const endMs = await elapsed(async () => {
    const until0 = { until: '2020-01-01T00:00:00Z' };
    await project.call('POST', `${path}/steps/${stepOf('DELAY')}/move-waits`, until0);
    await until('all to end', () => inStatus('EXITED'));
  });
  const client = await pool.connect();
  const handMs = await elapsed(async () => {
    await client.query('begin');
    await client.query(
      'update execution set updated_at = now(), context = null where workflow_id = $1',
      [id],
    );
    await client.query('rollback');
  }).finally(() => client.release());
  const rate = (name: string, ms: number) => [
    name,
    figure((count * 1000) / ms),
    figure((count * 1000) / handMs),
    figure(handMs / ms),
  ];
  return [
    rate(`migrate ${count}: rows`, migrateMs),
    rate(`migrate ${count}: rows, and their runs told`, migrateMs + drainMs),
    rate(`move-waits of ${count} into the past, until all have ended`, endMs),
  ];
}

/** Measures events without effect, in projects without and with exit rules on that event. */
async function exitRules({ apiUrl }: Stack, tracks: number, rounds: number): Promise<string[][]> {
  const subjects = await Promise.all(
    ['no exit rule', 'a rule on the event'].map(async (name, at) => {
      const project = await createProject(apiUrl);
      const id = await createWorkflow(project, 'started', ['DELAY', 'EXIT']);
      const exitRules = at === 0 ? [] : [{ eventName: 'seen', reason: 'has seen' }];
      await project.call('PATCH', `/workflows/${id}`, { exitRules });
      return { name, project, spent: [] as number[] };
    }),
  );
  for (let round = 0; round <= rounds * 2; round++) {
    for (const { project, spent } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      const track = (at: number) =>
        project.call('POST', '/v1/track', { email: `c${at % 200}@people.test`, event: 'seen' });
      const ms = await elapsed(() => times(tracks, 16, track));
      // The first round creates the contacts.
      if (round > 0) spent.push(ms / tracks);
    }
  }
  const [base = 0] = subjects.map(({ spent }) => median(spent));
  return subjects.map(({ name, spent }) => [
    name,
    figure(median(spent)),
    figure(median(spent) / base),
  ]);
}
