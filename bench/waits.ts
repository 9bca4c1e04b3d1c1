import { loadavg } from 'node:os';
import { Pool } from 'undici';
import type { Benchmark } from './measuring/benchmark.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, type Project } from './measuring/project.ts';
import { type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { times } from './measuring/waiting.ts';

/**
 * Requests to /v1/track for contacts whose executions wait for an event with a certain key,
 * compared with the same requests for an event that no execution waits for.
 */
export const waits: Benchmark = {
  summary: '/v1/track that looks at waits with conditions, against an event without waits',
  options: {
    /** Contacts with one open wait each, all for one event. */
    contacts: '100000',
    /** Open waits of one contact for that event. */
    keys: '1000',
    /** Requests of each kind in a round. */
    requests: '200',
    rounds: '3',
    /** Requests under way at once, for subjects with parallel requests. */
    parallel: '32',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const [contacts, keys] = [run.count('contacts'), run.count('keys')];
    const [requests, parallel] = [run.count('requests'), run.count('parallel')];
    const ended = requests * (run.count('rounds') + 1);
    const workflowId = await createJourney(project);
    // There are more waits than `keys`, so that at least `keys` of them remain after the last
    // event.
    await insertWaits(stack, workflowId, { contacts, keys: keys + ended });
    console.log(`${contacts} waits of as many contacts, and ${keys} of one contact\n`);
    // Each request is for another contact.
    let contact = 0;
    const other = () => ({ email: emailOf(++contact), data: { order: 0 } });
    const own = () => ({ email: emailOf(++contact), data: { order: contact } });
    let key = 0;
    const ofMany = () => ({ email: emailOf(0), data: { order: ++key } });
    const none = () => ({ email: emailOf(0), data: { order: 0 } });
    const subjects: Subject[] = [
      { name: 'no execution waits for it', event: 'seen', given: other, atOnce: 1 },
      { name: 'it looks at one wait', event: 'paid', given: other, atOnce: 1 },
      { name: 'it ends the one wait', event: 'paid', given: own, atOnce: 1 },
      { name: `it looks at ${keys} waits`, event: 'paid', given: none, atOnce: 1 },
      { name: `it looks at ${keys} waits, and ends one`, event: 'paid', given: ofMany, atOnce: 1 },
      { name: 'no execution waits for it, at once', event: 'seen', given: other, atOnce: parallel },
      { name: 'it looks at one wait, at once', event: 'paid', given: other, atOnce: parallel },
    ];
    const client = new Pool(stack.apiUrl, { connections: parallel, pipelining: 1 });
    run.defer(() => client.close());
    const results = subjects.map((subject) => ({ subject, rounds: [] as Round[] }));
    for (let round = 0; round <= run.count('rounds'); round++) {
      for (const { subject, rounds } of results) {
        const played = await play(client, project, subject, requests);
        // The first round warms up.
        if (round > 0) rounds.push(played);
      }
    }
    await verify(stack, workflowId, 2 * ended);
    print(results);
    const neighbour = await createProject(stack.apiUrl);
    const [seen] = subjects as [Subject];
    const looking = { ...seen, event: 'paid', given: none, atOnce: 4 };
    const idle = await play(client, neighbour, seen, 5 * requests);
    let isOver = false;
    const beside = (async () => {
      while (!isOver) await play(client, project, looking, looking.atOnce);
    })();
    const busy = await play(client, neighbour, seen, 5 * requests);
    isOver = true;
    await beside;
    printNeighbour(idle, busy, `beside events that look at ${keys} waits of another project`);
  },
};

interface Subject {
  name: string;
  event: string;
  given(): { email: string; data: object };
  /** Requests under way at once. */
  atOnce: number;
}

interface Round {
  seconds: number;
  /** Milliseconds of each request. */
  latencies: number[];
}

const emailOf = (contact: number) => `wait-${contact}@bench.example`;

/**
 * Creates a workflow that starts once for each order, and waits until that order is paid. Returns
 * its id.
 */
async function createJourney(project: Project): Promise<string> {
  const config = {
    eventName: 'paid',
    where: [{ field: 'event.order', operator: 'equals', valueOf: 'context.order' }],
  };
  const { id } = await project.call('POST', '/workflows', {
    name: 'Orders',
    enabled: true,
    graph: {
      executionKey: 'event.order',
      trigger: { type: 'EVENT', config: { eventName: 'ordered' } },
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'paid', type: 'WAIT_FOR_EVENT', name: 'Paid?', config },
      ],
      transitions: [{ from: 'trigger', to: 'paid' }],
    },
  });
  return String(id);
}

/**
 * Inserts waiting executions without runs: one for each contact, and for contact 0 one for each
 * key.
 */
async function insertWaits(
  { pool }: Stack,
  workflowId: string,
  { contacts, keys }: { contacts: number; keys: number },
): Promise<void> {
  await pool.query(
    `insert into contact (project_id, email, subscribed)
      select project_id, 'wait-' || n || '@bench.example', true
        from workflow, generate_series(0, $2::int) n where workflow.id = $1`,
    [workflowId, contacts],
  );
  await pool.query(
    `with given as (
      select n as contact, n as key from generate_series(1, $2::int) n
        union all select 0, n from generate_series(1, $3::int) n
    ), started as (
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id, status,
          current_step_id, context, key, slot, next_reconcile_at)
        select workflow.project_id, workflow.id, workflow.version, workflow.name, contact.id, 'WAITING',
            step.id, jsonb_build_object('order', given.key), given.key, given.key, null
          from workflow
          join workflow_step step on step.workflow_id = workflow.id and step.type = 'WAIT_FOR_EVENT'
          cross join given
          join contact on contact.project_id = workflow.project_id
            and contact.email = 'wait-' || given.contact || '@bench.example'
          where workflow.id = $1
        returning id, project_id, contact_id, current_step_id, context
    ), waiting as (
      insert into step_execution (project_id, execution_id, step_id, status, started_at)
        select project_id, id, current_step_id, 'WAITING', now() from started
        returning id, execution_id
    )
    insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name, conditions,
        required_data)
      select waiting.id, project_id, execution_id, contact_id, 'paid', jsonb_build_array(jsonb_build_object(
          'field', 'event.order', 'operator', 'equals', 'value', context -> 'order')),
          context
        from waiting join started on started.id = waiting.execution_id`,
    [workflowId, contacts, keys],
  );
  await pool.query('vacuum analyze');
}

async function play(
  client: Pool,
  { publicKey }: Project,
  { event, given, atOnce }: Subject,
  requests: number,
): Promise<Round> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  await times(requests, atOnce, async () => {
    const askedAt = performance.now();
    const { statusCode, body } = await client.request({
      path: '/v1/track',
      method: 'POST',
      headers: { authorization: publicKey, 'content-type': 'application/json' },
      body: JSON.stringify({ event, ...given() }),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${statusCode} ${text}`);
    latencies.push(performance.now() - askedAt);
  });
  return { seconds: (performance.now() - startedAt) / 1000, latencies };
}

/** @throws Error when other waits were ended than those whose event was sent */
async function verify({ pool }: Stack, workflowId: string, expected: number): Promise<void> {
  const { rows } = await pool.query<{ ended: number }>(
    `select count(*)::int as ended from execution
      where workflow_id = $1 and not exists (select from wait
        where wait.execution_id = execution.id and wait.event_id is null)`,
    [workflowId],
  );
  const ended = rows[0]?.ended;
  if (ended !== expected) throw new Error(`${ended} waits were ended, not ${expected}.`);
}

function printNeighbour(idle: Round, busy: Round, name: string): void {
  const p95 = ({ latencies }: Round) => percentile(latencies, 0.95);
  const lineOf = (text: string, round: Round) => [
    text,
    figure(p95(round) / p95(idle)),
    figure(median(round.latencies)),
    figure(p95(round)),
  ];
  printTable([
    ['/v1/track of one project', '× its p95', 'p50 ms', 'p95 ms'],
    lineOf('idle', idle),
    lineOf(name, busy),
  ]);
}

function print(results: readonly { subject: Subject; rounds: readonly Round[] }[]): void {
  printTable([
    ['The event', '× its time', 'p50 ms', 'p95 ms'],
    ...results.map(({ subject: { name, atOnce }, rounds }) => {
      const reference = results.find(({ subject }) => subject.atOnce === atOnce)?.rounds ?? [];
      // The ratio of a round depends little on other work of the machine.
      const ratios = rounds.map((round, i) => round.seconds / (reference[i] ?? round).seconds);
      const latencies = rounds.flatMap((round) => round.latencies);
      return [
        name,
        figure(median(ratios)),
        figure(median(latencies)),
        figure(percentile(latencies, 0.95)),
      ];
    }),
  ]);
  console.log('× its time: against the same requests of an event that no execution waits for.');
  console.log(`Load of the machine: ${loadavg().map(figure).join(', ')}\n`);
}
