import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { insertContacts, measured, send } from './mail/campaign.ts';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, type Project } from './measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from './measuring/stack.ts';
import type { Load, LoadResult } from './measuring/track-client.ts';
import { times, until } from './measuring/waiting.ts';

/**
 * Events that are delivered in batches per second, compared with a loop that only reads and sends
 * them. Also the cost of a campaign and of `/v1/track` in a project with three subscriptions to all
 * events, one of them with a receiver that hangs.
 */
export const subscriptions: Benchmark = {
  summary: 'Events to a subscription per second, and what subscriptions cost the rest',
  options: {
    /** Events that are delivered in batches of 100 in a round. */
    events: '20000',
    recipients: '20000',
    /** Requests to /v1/track in a round. */
    requests: '2000',
    /** Requests to /v1/track under way at once. */
    parallel: '8',
    rounds: '3',
    /** Milliseconds until the receiver answers. */
    answer: '50',
    ...stackOptions,
  },
  async run(run) {
    const [mailPort, port] = [await freePort(run), await freePort(run)];
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(mailPort),
      EMAIL_RATE_LIMIT_PER_SECOND: '0',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
      WEBHOOK_ALLOW_PRIVATE: 'true',
    });
    const env = { PORT: String(port), ANSWER_MS: run.text('answer') };
    await stack.startProgram('receiver', 'bench/reference/receiver.ts', env);
    const receiver = `http://127.0.0.1:${port}`;
    await deliver(run, stack, receiver);
    await besideOthers(run, stack, receiver, mailPort);
  },
};

const batchMax = 100;
/** Requests of a subscription under way at once. */
const atOnce = 10;

/** Measures the delivery of pending events in batches. */
async function deliver(run: BenchmarkRun, stack: Stack, receiver: string): Promise<void> {
  const project = await createProject(stack.apiUrl);
  const contacts = 1_000;
  await insertContacts(stack, project, contacts);
  const count = run.count('events');
  const ours: number[] = [];
  const bare: number[] = [];
  const rounds = run.count('rounds') + 1;
  for (let round = 0; round < rounds; round++) {
    const name = `bulk${round}`;
    const { id } = await project.call('POST', '/event-subscriptions', {
      url: `${receiver}/`,
      events: [name],
      batch: { max: batchMax },
    });
    await project.call('PATCH', `/event-subscriptions/${id}`, { paused: true });
    await stack.pool.query(
      `insert into event (project_id, name, contact_id, data)
        select $1, $2, contact.id, '{"total":42}'
          from contact, generate_series(1, $3::int) where project_id = $1 order by random()`,
      [project.id, name, Math.ceil(count / contacts)],
    );
    // An event recorded by the API signals the subscription's run.
    await project.call('POST', '/v1/track', { email: 'no-1@people.example', event: name });
    const all = Math.ceil(count / contacts) * contacts + 1;
    const ended = async (status: string) => {
      const { rows } = await stack.pool.query<{ count: number }>(
        'select count(*)::int as count from event_delivery where subscription_id = $1 and status = $2',
        [id, status],
      );
      return rows[0]?.count === all;
    };
    await until('the events to be listed', () => ended('pending'), { everyMs: 100 });
    const startedAt = performance.now();
    await project.call('PATCH', `/event-subscriptions/${id}`, { paused: false });
    await until('the events to be delivered', () => ended('delivered'), { everyMs: 100 });
    const seconds = (performance.now() - startedAt) / 1_000;
    await project.call('DELETE', `/event-subscriptions/${id}`);
    const bareSeconds = await deliverBare(stack, receiver, { projectId: project.id, name });
    // The first round compiles code and opens connections.
    if (round === 0) continue;
    ours.push(all / seconds);
    bare.push(all / bareSeconds);
  }
  console.log(`\n${count} events in batches of ${batchMax}, ${atOnce} requests at once\n`);
  printTable([
    ['', 'deliveries/s', '× bare loop'],
    ['bare loop', figure(median(bare)), '1'],
    [
      'subscription',
      figure(median(ours)),
      figure(median(ours.map((one, index) => one / (bare[index] ?? one)))),
    ],
  ]);
}

/**
 * Reads the same events page by page and sends them, without recording the results. Returns the
 * seconds.
 */
async function deliverBare(
  { pool }: Stack,
  receiver: string,
  { projectId, name }: { projectId: string; name: string },
): Promise<number> {
  const http = new Pool(receiver, { connections: atOnce, pipelining: 1 });
  const startedAt = performance.now();
  const { rows } = await pool.query<{ id: string }>(
    'select id from event where project_id = $1 and name = $2 order by created_at, id',
    [projectId, name],
  );
  await times(Math.ceil(rows.length / batchMax), atOnce, async (page) => {
    const ids = rows.slice(page * batchMax, (page + 1) * batchMax).map(({ id }) => id);
    const { rows: events } = await pool.query(
      `select event.id, name, event.data, contact_id, email, event.created_at
        from event left join contact on contact.id = contact_id where event.id = any($1)`,
      [ids],
    );
    const { body } = await http.request({
      path: '/',
      method: 'POST',
      body: JSON.stringify(events),
    });
    await body.dump();
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  await http.close();
  return seconds;
}

/** Measures the cost of subscriptions for a campaign and for `/v1/track`. */
async function besideOthers(
  run: BenchmarkRun,
  stack: Stack,
  receiver: string,
  mailPort: number,
): Promise<void> {
  const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', {
    PORT: String(mailPort),
  });
  const client = await stack.startProgram('track-client', 'bench/measuring/track-client.ts');
  const recipients = run.count('recipients');
  const seconds = await compare(run, stack, receiver, async (project) => {
    const { rows } = await stack.pool.query('select from contact where project_id = $1 limit 1', [
      project.id,
    ]);
    if (rows.length === 0) await insertContacts(stack, project, recipients);
    const { perSecond } = await measured(stack.pids, recipients, () =>
      send(stack, project, sink, recipients),
    );
    return recipients / perSecond;
  });
  const p95 = await compare(run, stack, receiver, async (project, round) =>
    percentile(await track(run, project, client, round), 0.95),
  );
  const row = (name: string, { without, beside }: Compared) => {
    const ratios = beside.map((value, index) => value / (without[index] ?? value));
    return [name, figure(median(without)), figure(median(beside)), `${figure(median(ratios))} ×`];
  };
  console.log('\nThree subscriptions to everything, one of them to a receiver that hangs\n');
  printTable([
    ['', 'without', 'with', 'ratio'],
    row(`seconds of a campaign to ${recipients}`, seconds),
    row('p95 of /v1/track, ms', p95),
  ]);
}

interface Compared {
  without: number[];
  beside: number[];
}

/** Measures in turn in a project without subscriptions and in one with three. */
async function compare(
  run: BenchmarkRun,
  stack: Stack,
  receiver: string,
  measure: (project: Project, round: number) => Promise<number>,
): Promise<Compared> {
  const [without, beside] = [await createProject(stack.apiUrl), await createProject(stack.apiUrl)];
  for (const path of ['/a', '/b', '/hang']) {
    await beside.call('POST', '/event-subscriptions', {
      url: `${receiver}${path}`,
      events: ['*'],
      batch: { max: batchMax },
    });
  }
  const compared: Compared = { without: [], beside: [] };
  for (let round = 0; round <= run.count('rounds'); round++) {
    const values = [await measure(without, round), await measure(beside, round)] as const;
    // The subscriptions read new events within a second, so wait a little longer.
    await sleep(1_500);
    await allDelivered(stack, beside);
    // The first round compiles code and opens connections.
    if (round === 0) continue;
    compared.without.push(values[0]);
    compared.beside.push(values[1]);
  }
  return compared;
}

async function track(
  run: BenchmarkRun,
  project: Project,
  client: ChildProcess,
  round: number,
): Promise<number[]> {
  const load: Load = {
    kind: 'api',
    event: 'seen',
    mark: `${project.id}-${round}`,
    requests: run.count('requests'),
    parallel: run.count('parallel'),
    contacts: 500,
    projectId: project.id,
    authorization: project.publicKey,
  };
  client.send(load);
  const [{ latencies, failures }] = (await once(client, 'message')) as [LoadResult];
  if (failures.length > 0) throw new Error(failures.join('\n'));
  return latencies;
}

/**
 * Waits for the deliveries of a round, because they would slow down the next one. Does not wait for
 * the receiver that hangs.
 */
function allDelivered({ pool }: Stack, project: Project): Promise<void> {
  const isDone = async () => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int as count from event_delivery delivery
        join event_subscription subscription on subscription.id = subscription_id
        where subscription.project_id = $1 and url not like '%/hang' and status = 'pending'`,
      [project.id],
    );
    return rows[0]?.count === 0;
  };
  return until('the events to be delivered', isDone, { everyMs: 500 });
}
