import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

import pg from 'pg';
import { describe, expect, inject, it, vi } from 'vitest';

import { claimFreePort, claimPort } from '../../dev/servers/ports.ts';
import { startStack } from '../../dev/servers/stack.ts';
import { readStackFile } from '../../dev/servers/stack-file.ts';
import { isRunning, stackPids } from '../support/servers.ts';
import { atEnd, useFolder } from '../support/use.ts';

// Two small programs that behave to the launcher like the real ones: the API responds to
// /health/ready, the worker reports { ready: true }, and both end on SIGTERM and with the launcher.
const apiProgram = `
  import { createServer } from 'node:http';
  if (process.env.FAIL) { console.error('JWT_SECRET is too short'); process.exit(1); }
  createServer((request, response) => response.end(JSON.stringify({ status: 'ok' })))
    .listen(Number(process.env.PORT));
  console.log('env ' + JSON.stringify(process.env));
  process.on('SIGTERM', () => { console.log('stopped'); process.exit(0); });
  process.on('disconnect', () => process.exit(0));`;
const workerProgram = `
  process.send({ ready: true });
  process.on('SIGTERM', () => { console.log('stopped'); process.exit(0); });
  process.on('disconnect', () => process.exit(0));`;

const directory = await useFolder();
const programs = { api: join(directory, 'api.mjs'), worker: join(directory, 'worker.mjs') };
await writeFile(programs.api, apiProgram);
await writeFile(programs.worker, workerProgram);

/** Returns PATH and the like, without the developer's variables for Everpost. */
function cleanEnv(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI } = process.env;
  return { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI, ...more };
}

async function start(env: NodeJS.ProcessEnv, signal = new AbortController().signal) {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const log = (program: string, line: string) => print(`${program} | ${line}`);
  const stack = await startStack({ env: cleanEnv(env), programs, print, log, signal });
  atEnd(() => stack.stop());
  const told = lines.find((line) => line.startsWith('api | env ')) ?? '{}';
  return { stack, lines, apiEnv: JSON.parse(told.replace(/^.* env /, '')) as NodeJS.ProcessEnv };
}

async function expectGone(pids: Record<string, number>): Promise<void> {
  expect(Object.keys(pids)).toEqual(['api', 'worker', 'temporal', 'postgres']);
  await vi.waitFor(
    () => {
      for (const [part, pid] of Object.entries(pids))
        expect(`${part} ${isRunning(pid)}`).toBe(`${part} false`);
    },
    { timeout: 20_000, interval: 100 },
  );
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('startStack', { timeout: 90_000 }, () => {
  it('starts all parts, gives the API their addresses, and stops them in order', async () => {
    const dataDir = await useFolder();
    const { stack, lines, apiEnv } = await start({ EVERPOST_DATA_DIR: dataDir });
    expect(apiEnv['DATABASE_URL']).toBe(stack.facts.databaseUrl);
    expect(apiEnv['TEMPORAL_ADDRESS']).toBe(stack.facts.temporalAddress);
    expect(apiEnv['API_URL']).toBe(`http://localhost:${apiEnv['PORT']}`);
    expect(apiEnv['EVERPOST_DATA_DIR']).toBe(dataDir);
    expect(apiEnv['HOST']).toBe('127.0.0.1');
    expect(apiEnv['JWT_SECRET']).toHaveLength(64);
    expect(await query(stack.facts.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);

    expect(await readStackFile(dataDir)).toEqual({ ...stack.facts, pid: process.pid });
    expect((await stat(join(dataDir, 'stack.json'))).mode & 0o777).toBe(0o600);
    for (const name of ['postgres', 'temporal']) {
      const { mode } = await stat(join(dataDir, 'logs', `${name}.log`));
      expect([name, mode & 0o777]).toEqual([name, 0o600]);
    }

    const pids = await stackPids(dataDir);
    await stack.stop();
    await expectGone(pids);
    expect(lines.filter((line) => line.endsWith('| stopped'))).toEqual([
      'api | stopped',
      'worker | stopped',
    ]);
    expect(await readStackFile(dataDir)).toBeNull();
    const port = await claimPort('PORT', apiEnv['PORT'], 0);
    await port.release();
  });

  it('keeps database, password and secret for the next start', async () => {
    const env = { EVERPOST_DATA_DIR: await useFolder() };
    const first = await start(env);
    await query(first.stack.facts.databaseUrl, 'create table kept as select 42 as answer');
    await first.stack.stop();
    const second = await start(env);
    const { databaseUrl } = second.stack.facts;
    expect(await query(databaseUrl, 'select answer from kept')).toEqual([{ answer: 42 }]);
    expect(second.apiEnv['JWT_SECRET']).toBe(first.apiEnv['JWT_SECRET']);
  });

  it('runs two stacks side by side, but refuses a second one on the same directory', async () => {
    const [one, two] = [await useFolder(), await useFolder()];
    const [first, second] = await Promise.all([
      start({ EVERPOST_DATA_DIR: one }),
      start({ EVERPOST_DATA_DIR: two }),
    ]);
    for (const key of ['apiUrl', 'databaseUrl', 'temporalAddress', 'temporalUiUrl'] as const) {
      expect(first.stack.facts[key]).not.toBe(second.stack.facts[key]);
    }
    await expect(start({ EVERPOST_DATA_DIR: one })).rejects.toThrow(
      `Everpost already runs on ${one} at ${first.stack.facts.apiUrl} (process ${process.pid}).`,
    );
    expect(await readStackFile(one)).not.toBeNull();
  });

  it('uses the servers of DATABASE_URL and TEMPORAL_ADDRESS and starts none', async () => {
    const dataDir = await useFolder();
    const { stack, apiEnv } = await start({
      EVERPOST_DATA_DIR: dataDir,
      HOST: '0.0.0.0',
      DATABASE_URL: inject('databaseUrl'),
      TEMPORAL_ADDRESS: inject('temporalAddress'),
    });
    expect(stack.facts.databaseUrl).toBe(inject('databaseUrl'));
    expect(stack.facts.temporalUiUrl).toBeNull();
    expect(apiEnv['HOST']).toBe('0.0.0.0');
    expect(Object.keys(await stackPids(dataDir))).toEqual(['api', 'worker']);
  });

  it('starts a killed API, worker, Temporal and PostgreSQL again', async () => {
    const dataDir = await useFolder();
    const { stack } = await start({ EVERPOST_DATA_DIR: dataDir });
    const before = await stackPids(dataDir);
    for (const pid of Object.values(before)) process.kill(pid, 'SIGKILL');
    await vi.waitFor(
      async () => {
        const now = await stackPids(dataDir);
        for (const part of Object.keys(before)) expect(now[part]).not.toBe(before[part]);
        await query(stack.facts.databaseUrl, 'select 1');
        expect((await fetch(`${stack.facts.apiUrl}/health/ready`)).status).toBe(200);
        expect((await fetch(stack.facts.temporalUiUrl!)).status).toBe(200);
      },
      { timeout: 30_000, interval: 200 },
    );
  });

  it('stops what it had started when the API does not start', async () => {
    const dataDir = await useFolder();
    const lines: string[] = [];
    await expect(
      startStack({
        env: cleanEnv({ EVERPOST_DATA_DIR: dataDir, FAIL: 'yes' }),
        programs,
        print: (line) => void lines.push(line),
        log: (program, line) => void lines.push(`${program} | ${line}`),
        signal: new AbortController().signal,
      }),
    ).rejects.toThrow('The API ended before it was ready (exit code 1).');
    expect(lines).toContain('api | JWT_SECRET is too short');
    expect(await stackPids(dataDir)).toEqual({});
  });

  it('refuses a taken TEMPORAL_PORT by its name, and leaves no PostgreSQL behind', async () => {
    const { port, release } = await claimFreePort();
    await release();
    const other = createServer().listen(port, '127.0.0.1');
    const dataDir = await useFolder();
    await expect(
      start({ EVERPOST_DATA_DIR: dataDir, TEMPORAL_PORT: String(port) }),
    ).rejects.toThrow(`TEMPORAL_PORT=${port} cannot be used`);
    expect(await stackPids(dataDir)).toEqual({});
    other.close();
  });

  it('stops at once when it is asked to while it starts', async () => {
    const dataDir = await useFolder();
    const giveUp = new AbortController();
    const start1 = start({ EVERPOST_DATA_DIR: dataDir }, giveUp.signal);
    await vi.waitFor(
      async () => expect(await stackPids(dataDir)).toHaveProperty('temporal'),
      15_000,
    );
    giveUp.abort();
    await expect(start1).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect(await stackPids(dataDir)).toEqual({});
  });

  it('leaves no process when the launcher is killed, and the next start works', async () => {
    const dataDir = await useFolder();
    const code = `
      import { startStack } from ${JSON.stringify(join(import.meta.dirname, '../../dev/servers/stack.ts'))};
      await startStack({ env: process.env, programs: ${JSON.stringify(programs)},
        print: console.log, log: console.log, signal: new AbortController().signal });`;
    const launcher = spawn(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', code],
      { env: cleanEnv({ EVERPOST_DATA_DIR: dataDir }), stdio: 'ignore' },
    );
    await vi.waitFor(() => readFile(join(dataDir, 'stack.json')), {
      timeout: 60_000,
      interval: 100,
    });
    const pids = await stackPids(dataDir);
    launcher.kill('SIGKILL');
    await once(launcher, 'exit');
    const next = await start({ EVERPOST_DATA_DIR: dataDir });
    await expectGone(pids);
    expect(await query(next.stack.facts.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});
