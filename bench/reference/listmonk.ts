import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { type Running, end, launch } from '../../dev/servers/processes.ts';
import type { BenchmarkRun } from '../measuring/benchmark.ts';
import { freePort, inherited, type Stack } from '../measuring/stack.ts';

/**
 * Listmonk beside a stack: its own database in the stack's PostgreSQL, and the same mail server.
 */
export interface Listmonk {
  /** Returns the id of the current process. */
  pid(): number;
  /** Creates a campaign to all subscribers, and starts it. Returns its id. */
  startCampaign(content: Content): Promise<number>;
  /** Returns the status of a campaign, which becomes `finished`. */
  statusOf(campaignId: number): Promise<string>;
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>;
  /** Starts the process again. */
  start(): Promise<void>;
}

interface Content {
  subject: string;
  body: string;
}

/**
 * Starts a Listmonk (6.2) whose sources and built program (`go build -o listmonk ./cmd`) are in
 * `directory`. Its settings are those of a large installation: 20 connections and as many senders,
 * no limit of messages, batches of 1,000 subscribers (its default), opens and clicks by subscriber.
 * @throws Error with the last output of Listmonk when it does not start
 */
export async function startListmonk(
  run: BenchmarkRun,
  stack: Stack,
  given: { directory: string; sinkPort: number; subscribers: number },
): Promise<Listmonk> {
  const sources = resolve(given.directory);
  const port = await freePort(run);
  const url = new URL(stack.databaseUrl);
  url.pathname = `listmonk_${port}`;
  await stack.pool.query(`create database ${url.pathname.slice(1)}`);
  const home = await makeHome(run, sources, { url, port });
  const pool = new pg.Pool({ connectionString: url.href, max: 2 });
  pool.on('error', () => undefined);
  run.defer(() => pool.end());

  const lastLines: string[] = [];
  const launched = (...args: string[]) =>
    launch({
      command: join(sources, 'listmonk'),
      args,
      cwd: home,
      env: inherited(),
      stopSignal: 'SIGTERM',
      onLine(line) {
        lastLines.push(line);
        if (lastLines.length > 6) lastLines.shift();
      },
    });
  const how = await launched('--install', '--yes').ended;
  if (how !== 'exit code 0') throw new Error(`Listmonk: ${how}:\n  ${lastLines.join('\n  ')}`);
  await configure(pool, given.sinkPort);
  await insertSubscribers(pool, given.subscribers);

  let running: Running | null = null;
  const start = async () => {
    const started = launched();
    running = started;
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}/api/health`).catch(() => null);
      if (answer) break;
      if (started.child.exitCode !== null) {
        throw new Error(`Listmonk has ended:\n  ${lastLines.join('\n  ')}`);
      }
      await new Promise((next) => setTimeout(next, 100));
    }
  };
  await start();
  run.defer(async () => running && end(running, 'SIGTERM'));
  return {
    pid: () => running?.child.pid ?? 0,
    start,
    async kill() {
      if (!running) return;
      const gone = once(running.child, 'exit');
      running.child.kill('SIGKILL');
      await gone;
    },
    startCampaign: (content) => insertCampaign(pool, content),
    async statusOf(id) {
      const { rows } = await pool.query<{ status: string }>(
        'select status from campaigns where id = $1',
        [id],
      );
      return rows[0]?.status ?? 'gone';
    },
  };
}

/** Creates the working directory of Listmonk. */
async function makeHome(
  run: BenchmarkRun,
  sources: string,
  { url, port }: { url: URL; port: number },
): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'everpost-listmonk-'));
  run.defer(() => rm(home, { recursive: true, force: true }));
  const names = [
    'config.toml.sample',
    'permissions.json',
    'queries',
    'schema.sql',
    'static',
    'i18n',
  ];
  for (const name of names) {
    await cp(join(sources, name), join(home, name), { recursive: true });
  }
  // The admin pages of Listmonk need a build of their own, and are not opened here.
  await mkdir(join(home, 'frontend/dist/frontend'), { recursive: true });
  await writeFile(join(home, 'frontend/dist/favicon.png'), '');
  await writeFile(join(home, 'frontend/dist/frontend/index.html'), '');
  const config = `[app]
address = "127.0.0.1:${port}"
[db]
host = "${url.hostname}"
port = ${url.port}
user = "${decodeURIComponent(url.username)}"
password = "${decodeURIComponent(url.password)}"
database = "${url.pathname.slice(1)}"
ssl_mode = "disable"
max_open = 25
max_idle = 25
max_lifetime = "300s"
`;
  await writeFile(join(home, 'config.toml'), config);
  return home;
}

async function configure(pool: pg.Pool, sinkPort: number): Promise<void> {
  const server = {
    enabled: true,
    host: '127.0.0.1',
    port: sinkPort,
    auth_protocol: 'none',
    username: '',
    password: '',
    hello_hostname: '',
    max_conns: 20,
    idle_timeout: '15s',
    wait_timeout: '5s',
    max_msg_retries: 2,
    msg_retry_delay: '10ms',
    tls_type: 'none',
    tls_skip_verify: false,
    email_headers: [],
    from_addresses: [],
  };
  const settings = {
    'app.concurrency': 20,
    'app.message_rate': 1_000_000,
    'app.check_updates': false,
    'app.notify_emails': ['admin@listmonk.test'],
    'privacy.individual_tracking': true,
    smtp: [server],
  };
  for (const [key, value] of Object.entries(settings)) {
    await pool.query('update settings set value = $2 where key = $1', [key, JSON.stringify(value)]);
  }
  await pool.query(
    `update templates set body = '{{ template "content" . }}{{ TrackView }}' where id = 1`,
  );
  // Deletes the sample campaigns of Listmonk.
  await pool.query('delete from campaigns');
  await pool.query('delete from subscribers');
}

/** Inserts the same recipients as `insertContacts`. */
async function insertSubscribers(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(
    `insert into subscribers (uuid, email, name, attribs)
      select gen_random_uuid(), 'no-' || n || '@people.example', 'No. ' || n,
          jsonb_build_object('name', 'No. ' || n, 'city', 'Utrecht', 'plan', 'pro', 'points', n,
            'since', '2024-05-01', 'shop', 'Centre')
        from generate_series(1, $1::int) n`,
    [count],
  );
  await pool.query(
    `insert into subscriber_lists (subscriber_id, list_id, status)
      select id, 1, 'confirmed' from subscribers`,
  );
  await pool.query('vacuum analyze');
}

async function insertCampaign(pool: pg.Pool, { subject, body }: Content): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `with made as (
      insert into campaigns (uuid, name, subject, from_email, body, content_type, status, messenger,
          template_id, type)
        values (gen_random_uuid(), 'Bench', $1, 'team@bench.test', $2, 'html', 'running', 'email', 1,
          'regular') returning id
    ), named as (
      insert into campaign_lists (campaign_id, list_id, list_name) select id, 1, 'All' from made
    ) select id from made`,
    [subject, body],
  );
  return rows[0]?.id ?? 0;
}
