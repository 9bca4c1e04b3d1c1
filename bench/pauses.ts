import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase, transact } from '../db/database.ts';
import { disableProject } from '../db/transactions/projects/suspend-project.ts';
import { insertContacts } from './mail/campaign.ts';
import type { Benchmark } from './measuring/benchmark.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, type Project } from './measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { followInsertedMail } from './measuring/inserted-mail.ts';

/**
 * The longest pause of a request while its own project, or another one, changes very many rows, for
 * example by a deletion or a cancel. Compared with the same requests on an idle system.
 */
export const pauses: Benchmark = {
  summary:
    'The longest pause of requests beside deletions of very many rows, against an idle system',
  options: {
    /** Number of executions, members, mails or contacts that each action changes. */
    rows: '100000',
    /** Seconds for which the idle system is measured before each action. */
    idle: '5',
    ...stackOptions,
  },
  async run(run) {
    const port = await freePort(run);
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
    });
    await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
    const [large, small] = [await createProject(stack.apiUrl), await createProject(stack.apiUrl)];
    const rows = run.count('rows');
    await insertContacts(stack, large, rows);
    await insertContacts(stack, small, 1_000);
    // The first requests compile code and open connections, so they are not counted.
    await measure(stack, [large, small], () => sleep(3_000));
    const lines: string[][] = [];
    for (const { name, prepare, isOver = async () => true, act } of actions(stack, large, rows)) {
      const id = await prepare();
      await stack.pool.query('vacuum analyze');
      const idle = await measure(stack, [large, small], () => sleep(run.count('idle') * 1_000));
      lines.push(lineOf('idle', idle));
      const measured = await measure(stack, [large, small], async () => {
        await act(id);
        const end = Date.now() + 120_000;
        while (!(await isOver(id)) && Date.now() < end) await sleep(500);
      });
      lines.push(lineOf(name, measured));
      console.log(
        lines
          .slice(-2)
          .map((line) => line.join('  '))
          .join('\n'),
      );
    }
    console.log(`Requests to /v1/track, /contacts and /v1/send, in milliseconds; ${rows} rows.\n`);
    printTable([
      ['', 's', 'own p50', 'p99', 'most', "other's p50", 'p99', 'most', 'lock', 'failed', 'API MB'],
      ...lines,
    ]);
  },
};

interface Action {
  name: string;
  /** Inserts the rows. Returns the id of their owner. */
  prepare(): Promise<string>;
  act(id: string): Promise<unknown>;
  /** Returns true if the background work is done. */
  isOver?(id: string): Promise<boolean>;
}

/** Functions that insert the rows and read them. */
function fixtures({ pool, databaseUrl }: Stack, project: Project, rows: number) {
  const value = async (text: string, values: unknown[]) =>
    Object.values((await pool.query<Record<string, unknown>>(text, values)).rows[0] ?? {})[0];
  const isNone = async (text: string, values: unknown[]) =>
    (await value(`select not exists (select ${text})`, values)) === true;
  const workflow = async (status: string) => {
    const { id } = await project.call('POST', '/workflows', { name: 'Large', eventName: 'none' });
    await pool.query(
      `insert into workflow_version (workflow_id, version, project_id, graph)
        values ($1, 1, $2, '{"steps": [], "transitions": []}') on conflict do nothing`,
      [id, project.id],
    );
    await pool.query(
      `with made as (
        insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
            status, next_reconcile_at)
          select $1, $2, 1, 'Large', id, $4, now() + interval '1 day' from contact
            where project_id = $1 limit $3
          returning id
      )
      insert into step_execution (project_id, execution_id, step_id, status)
        select $1, made.id, uuid_v7(), case when $4 = 'WAITING' then 'WAITING' else 'COMPLETED' end
          from made, generate_series(1, 2)`,
      [project.id, id, rows, status],
    );
    return String(id);
  };
  const campaign = async (status: string, mailStatus: string) => {
    const { data } = await project.call('POST', '/campaigns', {
      name: 'Large',
      subject: 'Hello',
      body: '<p>Hello</p>',
      from: project.sender,
      audienceType: 'ALL',
    });
    const { id } = data as { id: string };
    await pool.query(
      `with campaign as (
        update campaign set status = $2, paused_reason = case when $2 = 'PAUSED' then 'requested' end,
            frozen_at = now(), audience_fixed = true
          where id = $1 returning id, project_id
      )
      insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
          source_type, campaign_id, status, sent_at)
        select campaign.project_id, contact.id, email, 'Hello', $5, 'MARKETING', 'CAMPAIGN',
            campaign.id, $4, case when $4 = 'SENT' then now() end
          from campaign join contact on contact.project_id = campaign.project_id limit $3`,
      [id, status, rows, mailStatus, project.sender],
    );
    await followInsertedMail(databaseUrl);
    return id;
  };
  const segment = async (given: object) => {
    const { id } = await project.call('POST', '/segments', { name: 'Large', ...given });
    return String(id);
  };
  return { value, isNone, workflow, campaign, segment };
}

function actions(stack: Stack, project: Project, rows: number): Action[] {
  const { value, isNone, workflow, campaign, segment } = fixtures(stack, project, rows);
  const isRemoved = (id: string) => isNone('from removal where id = $1', [id]);
  const isPro = {
    operator: 'AND',
    conditions: [{ field: 'data.plan', operator: 'equals', value: 'pro' }],
  };
  return [
    {
      name: 'delete a workflow with executions',
      prepare: () => workflow('COMPLETED'),
      act: (id) => project.call('DELETE', `/workflows/${id}`),
      isOver: isRemoved,
    },
    {
      name: 'cancel all executions',
      prepare: () => workflow('WAITING'),
      act: (id) => project.call('POST', `/workflows/${id}/executions/cancel-all`),
      isOver: (id) => isNone(`from execution where workflow_id = $1 and status = 'WAITING'`, [id]),
    },
    {
      name: 'contacts enter a segment',
      prepare: () => segment({ filters: isPro, trackMembership: true }),
      act: (id) => project.call('POST', `/segments/${id}/compute`),
    },
    {
      name: 'delete a segment with members',
      prepare: async () =>
        String(await value('select id from segment where project_id = $1', [project.id])),
      act: (id) => project.call('DELETE', `/segments/${id}`),
      isOver: isRemoved,
    },
    {
      name: 'delete a campaign that was sent',
      prepare: () => campaign('SENT', 'SENT'),
      act: (id) => project.call('DELETE', `/campaigns/${id}`),
    },
    {
      name: 'cancel a campaign whose mail waits',
      prepare: () => campaign('PAUSED', 'PENDING'),
      act: (id) => project.call('POST', `/campaigns/${id}/cancel`, {}),
      isOver: (id) => isNone(`from email where campaign_id = $1 and status = 'PENDING'`, [id]),
    },
    {
      name: 'delete a contact field',
      prepare: async () => 'city',
      act: (key) => project.call('DELETE', `/contacts/fields/data.${key}`),
    },
    {
      name: 'delete contacts in bulk',
      prepare: async () => '',
      act: () =>
        project.call('POST', '/contacts/bulk-delete', { mode: 'query', filter: { search: 'no-' } }),
      isOver: () =>
        isNone(`from contact where project_id = $1 and email like 'no-%'`, [project.id]),
    },
    disabling(stack, project, rows),
  ];
}

function disabling(stack: Stack, project: Project, rows: number): Action {
  const { isNone, workflow, campaign } = fixtures(stack, project, rows);
  return {
    name: 'disable the project',
    prepare: async () => {
      await stack.pool.query(
        `insert into contact (project_id, email, subscribed)
          select $1, 'again-' || n || '@people.example', true from generate_series(1, $2::int) n`,
        [project.id, rows],
      );
      await campaign('PAUSED', 'PENDING');
      return workflow('WAITING');
    },
    async act() {
      const { db, close } = openDatabase(stack.databaseUrl);
      await transact(db, (tx) => disableProject(tx, project.id, 'MANUAL')).finally(close);
    },
    isOver: () =>
      isNone(
        `from execution where project_id = $1 and status = 'WAITING'
          union all select from email where project_id = $1 and status = 'PENDING'`,
        [project.id],
      ),
  };
}

interface Measured {
  seconds: number;
  /** Milliseconds of each request, by project. */
  latencies: number[][];
  /** The longest wait of a statement for a lock, in milliseconds. */
  lockMs: number;
  failed: number;
  apiMegabytes: number | null;
}

/** Milliseconds between a response and the next request of its kind. */
const pauseMs = 25;

/** Sends requests of each project, one of each kind at a time, until `work` is over. */
async function measure(
  { pids, pool }: Stack,
  projects: readonly Project[],
  work: () => Promise<unknown>,
): Promise<Measured> {
  const latencies: number[][] = projects.map(() => []);
  let [isOver, failed, lockMs] = [false, 0, 0];
  const loops = projects.flatMap((project, index) =>
    requests(project).map(async (request) => {
      for (let count = 0; !isOver; count += 1) {
        const askedAt = performance.now();
        await request(count).catch(() => (failed += 1));
        latencies[index]?.push(performance.now() - askedAt);
        await sleep(pauseMs);
      }
    }),
  );
  async function watchLocks(): Promise<void> {
    while (!isOver) {
      const { rows } = await pool.query<{ ms: number | null }>(
        `select (extract(epoch from max(clock_timestamp() - waitstart)) * 1000)::float8 as ms
          from pg_locks where not granted`,
      );
      lockMs = Math.max(lockMs, rows[0]?.ms ?? 0);
      await sleep(pauseMs);
    }
  }
  const watching = watchLocks();
  const startedAt = performance.now();
  await work().finally(() => (isOver = true));
  const seconds = (performance.now() - startedAt) / 1000;
  await Promise.all([...loops, watching]);
  return { seconds, latencies, lockMs, failed, apiMegabytes: await megabytesOf(pids.api) };
}

const requests = (project: Project): ((count: number) => Promise<unknown>)[] => [
  (count) =>
    project.call('POST', '/v1/track', { event: 'seen', email: `seen-${count % 50}@bench.example` }),
  () => project.call('GET', '/contacts?limit=20'),
  (count) =>
    project.call('POST', '/v1/send', {
      to: `mailed-${count % 50}@bench.example`,
      from: project.sender,
      subject: 'Your code',
      body: '<p>1234</p>',
    }),
];

function lineOf(name: string, measured: Measured): string[] {
  const { seconds, latencies, lockMs, failed, apiMegabytes } = measured;
  const figures = latencies.flatMap((ms) =>
    [median(ms), percentile(ms, 0.99), percentile(ms, 1)].map(figure),
  );
  return [
    name,
    figure(seconds),
    ...figures,
    figure(lockMs),
    String(failed),
    figure(apiMegabytes ?? Number.NaN),
  ];
}

/** Returns the memory of a process; null without /proc. */
async function megabytesOf(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /VmRSS:\s+(\d+)/.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}
