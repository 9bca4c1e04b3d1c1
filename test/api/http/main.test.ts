import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { openDatabase } from '../../../db/database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useDatabase, databaseAt, execute } from '../../support/servers.ts';

const program = join(import.meta.dirname, '../../../api/main.ts');
const children = new Set<ChildProcess>();
const releases: (() => Promise<void>)[] = [];

const database = await useDatabase();
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
  for (const release of releases.splice(0)) await release();
});

/** Starts the API with these variables alone, and with the address of no Temporal server. */
function start(env: Record<string, string>) {
  const child = fork(program, {
    execArgv: ['--import', 'tsx'],
    env: { PATH: process.env['PATH'], TEMPORAL_ADDRESS: '127.0.0.1:1', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.add(child);
  let output = '';
  child.stdout?.on('data', (chunk) => (output += String(chunk)));
  child.stderr?.on('data', (chunk) => (output += String(chunk)));
  // Not "close" of the child, which does not come after the channel was closed.
  const ended = Promise.all([
    once(child, 'exit'),
    ...[child.stdout, child.stderr].map((stream) => stream && once(stream, 'close')),
  ]).then(([[code]]) => code as number | null);
  return {
    child,
    ended,
    output: () => output,
    async ready() {
      const first = await Promise.race([once(child, 'message'), ended]);
      if (!Array.isArray(first)) throw new Error(`Ended with ${first}: ${output}`);
      expect(first[0]).toEqual({ ready: true });
    },
  };
}

async function freePort(): Promise<number> {
  const { port, release } = await claimFreePort();
  releases.push(release);
  return port;
}

const settings = async (databaseUrl = database.url) => {
  const port = await freePort();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    env: { DATABASE_URL: databaseUrl, JWT_SECRET: 'j'.repeat(32), PORT: String(port) },
  };
};

describe('a start', () => {
  it.each([
    [['JWT_SECRET'], {}],
    [
      ['JWT_SECRET', 'DATABASE_URL', 'PORT'],
      { JWT_SECRET: 'short', DATABASE_URL: '', PORT: 'abc' },
    ],
  ])('is refused with one line for each of %j', async (names, env) => {
    const api = start({ DATABASE_URL: database.url, ...(env as Record<string, string>) });
    expect(await api.ended).toBe(1);
    const lines = api.output().trim().split('\n').slice(1);
    expect(lines.map((line) => line.trim().split(' ')[0]).toSorted()).toEqual(names.toSorted());
  });

  it('is refused with one sentence when the port is taken', async () => {
    const { port, env } = await settings();
    const other = createServer().listen(port, '0.0.0.0');
    await once(other, 'listening');
    const api = start(env);
    const code = await api.ended;
    other.close();
    expect(code).toBe(1);
    expect(api.output()).toContain(`Port ${port} is in use by another program.`);
  });

  it('is refused with one sentence when the database does not answer', async () => {
    const { env } = await settings('postgres://nobody@127.0.0.1:1/none');
    const api = start(env);
    expect(await api.ended).toBe(1);
    expect(api.output()).toMatch(/^The API did not start\. .*ECONNREFUSED/);
  });

  it('is refused with one sentence on an older schema that it may not migrate', async () => {
    const adminUrl = inject('databaseUrl');
    const name = `test_${randomUUID().replaceAll('-', '')}`;
    await execute(adminUrl, `create database ${name}`);
    const { env } = await settings(databaseAt(adminUrl, name));
    const api = start({ ...env, DATABASE_MIGRATE_ON_START: 'false' });
    expect(await api.ended).toBe(1);
    expect(api.output()).toMatch(
      /The API did not start\. The database lacks the migration 0001-functions\. Run npm run migr/,
    );
    await execute(adminUrl, `drop database ${name} with (force)`);
  });
});

describe('a start with unsafe settings', () => {
  it('is refused in production with a sentence each', async () => {
    const { env } = await settings();
    const unsafe = { NODE_ENV: 'production', API_URL: 'http://api.shop.dev', CONSOLE: 'false' };
    const api = start({ ...env, ...unsafe });
    expect(await api.ended).toBe(1);
    const lines = api.output().trim().split('\n').slice(1);
    expect(lines.map((line) => line.trim().split(' ')[0])).toEqual([
      'DASHBOARD_URL',
      'API_URL',
      'JWT_SECRET',
    ]);
  });

  it('says in the log that the receiver of SNS is closed', async () => {
    const { env } = await settings();
    const api = start({
      ...env,
      AWS_SES_REGION: 'eu-west-1',
      AWS_SES_ACCESS_KEY_ID: 'id',
      AWS_SES_SECRET_ACCESS_KEY: 'secret',
    });
    await api.ready();
    const warnings = api
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as { level: number; msg: string })
      .filter(({ level }) => level === 40);
    expect(warnings.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^SNS_TOPIC_ARN is not set: reports of Amazon SNS are refused/),
    ]);
    api.child.kill('SIGTERM');
    expect(await api.ended).toBe(0);
  });
});

describe('two processes on one empty database', () => {
  it(
    'migrate it once, both start without Temporal, and share users, keys and mail',
    { timeout: 120_000 },
    async () => {
      const adminUrl = inject('databaseUrl');
      const name = `test_${randomUUID().replaceAll('-', '')}`;
      await execute(adminUrl, `create database ${name}`);
      const url = databaseAt(adminUrl, name);
      const [first, second] = [await settings(url), await settings(url)];
      const processes = [start(first.env), start(second.env)];
      await Promise.all(processes.map((api) => api.ready()));

      const post = (
        base: string,
        path: string,
        body: unknown,
        headers: Record<string, string> = {},
      ) =>
        fetch(`${base}${path}`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', ...headers },
          body: JSON.stringify(body),
        });
      const ready = await fetch(`${first.url}/health/ready`);
      expect([ready.status, await ready.json()]).toEqual([
        503,
        { status: 'failed', checks: { database: 'ok', temporal: 'failed', background: 'ok' } },
      ]);
      const account = { email: 'ada@users.test', password: 'a password' };
      const made = await post(first.url, '/auth/signup', account);
      const Cookie = made.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const created = await post(second.url, '/users/@me/projects', { name: 'Shop' }, { Cookie });
      const project = (await created.json()) as { id: string; secret: string };
      const add = (domain: string) =>
        post(first.url, '/domains', { domain }, { Authorization: `Bearer ${project.secret}` });
      expect((await add('x.test')).status).toBe(201);
      const mail = { to: 'bob@people.test', from: 'team@x.test', subject: 'Hi', body: 'Hi' };
      const key = { Authorization: `Bearer ${project.secret}` };
      expect((await post(second.url, '/v1/send', mail, key)).status).toBe(200);
      const { features } = (await (await fetch(`${first.url}/config`)).json()) as {
        features: { email: { mode: string } };
      };
      expect(features.email.mode).toBe('local');
      const path = `/users/@me/projects/${project.id}/regenerate-keys`;
      expect((await post(second.url, path, {}, { Cookie })).status).toBe(200);
      expect((await add('y.test')).status).toBe(401);

      for (const { child } of processes) child.kill('SIGTERM');
      expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0]);
      await execute(adminUrl, `drop database ${name} with (force)`);
    },
  );
});

describe('a stop', () => {
  it('lets the running request end and takes no new one', async () => {
    const { env, port, url } = await settings();
    const api = start(env);
    await api.ready();
    const body = JSON.stringify({ email: `${randomUUID()}@users.test`, password: 'a password' });
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST /auth/signup HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    // The server sends this when it has begun to handle the request.
    await answerWith(socket, '100 Continue');
    api.child.kill('SIGTERM');
    await refused(url);
    socket.write(body);
    await answerWith(socket, 'HTTP/1.1 200 OK');
    expect(await api.ended).toBe(0);
  });

  it('stores the last requests in the request log; after a kill the next process goes on', async () => {
    const { env, url } = await settings();
    const send = async (method: string, path: string, body: object | null, headers = {}) => {
      const type = { 'content-type': 'application/json' };
      const init = { method, headers: { ...type, ...headers }, body: body && JSON.stringify(body) };
      return fetch(`${url}${path}`, init);
    };
    const stored = async (id: string) => {
      const opened = openDatabase(database.url);
      const row = opened.db.selectFrom('request_log').select('request_id');
      const found = await row.where('request_id', '=', id).executeTakeFirst();
      await opened.close();
      return found !== undefined;
    };
    const killed = start(env);
    await killed.ready();
    const account = { email: `${randomUUID()}@users.test`, password: 'a password' };
    const cookie = (await send('POST', '/auth/signup', account)).headers.get('set-cookie') ?? '';
    const made = await send('POST', '/users/@me/projects', { name: 'Shop' }, { cookie });
    const authorization = `Bearer ${((await made.json()) as { secret: string }).secret}`;
    const ask = async () => {
      const answer = await send('GET', '/topics', null, { authorization });
      return answer.headers.get('x-request-id') ?? '';
    };
    const first = await ask();
    await waitFor('the first request', () => stored(first));
    await ask();
    killed.child.kill('SIGKILL');
    await killed.ended;
    const api = start(env);
    await api.ready();
    const last = await ask();
    api.child.kill('SIGTERM');
    expect(await api.ended).toBe(0);
    expect([await stored(first), await stored(last)]).toEqual([true, true]);
  });

  it('comes with the end of the parent, also for idle connections', async () => {
    const { env, url } = await settings();
    const api = start(env);
    await api.ready();
    await (await fetch(`${url}/health`)).text();
    api.child.disconnect();
    expect(await api.ended).toBe(0);
  });
});

async function answerWith(socket: Socket, text: string): Promise<void> {
  let seen = '';
  while (!seen.includes(text)) {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    seen += chunk.toString();
  }
}

/** Resolves when the server no longer accepts connections. */
async function refused(url: string): Promise<void> {
  while (
    await fetch(`${url}/health`).then(
      (answer) => answer.ok,
      () => false,
    )
  );
}
