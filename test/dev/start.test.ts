import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it, vi } from 'vitest';

import { ports, readyWithin, root, useLaptop } from '../support/processes/npm-start.ts';
import { isRunning, stackPids } from '../support/servers.ts';
import { listen, use } from '../support/use.ts';

const run = promisify(execFile);
const user = { email: 'ada@shop.example', password: 'correct-horse-battery' };
const launch = [process.execPath, '--import', 'tsx', 'dev/start.ts'];

const laptop = await useLaptop();
const { dataDir, env } = laptop;

function post(path: string, body: object = user): Promise<Response> {
  return fetch(`http://localhost:${env['PORT']}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function demo(): Promise<string> {
  const args = ['--import', 'tsx', 'dev/demo.ts'];
  return (await run(process.execPath, args, { cwd: root, env })).stdout;
}

async function stop(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  const pids = await stackPids(dataDir);
  expect(Object.keys(pids)).toEqual(['api', 'worker', 'temporal', 'postgres']);
  const ended = once(child, 'exit');
  child.kill(signal);
  expect(await ended).toEqual([0, null]);
  for (const pid of Object.values(pids)) expect(isRunning(pid)).toBe(false);
  for (const variable of ports) {
    await expect(fetch(`http://127.0.0.1:${env[variable]}`)).rejects.toThrow('fetch failed');
  }
}

describe('npm start', { timeout: 300_000 }, () => {
  it('names an unknown option, and the options there are', async () => {
    const { child, output } = laptop.start({}, [...launch, '--loud']);
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(output.text).toMatch(/--loud[^]*Usage: npm start[^]*--verbose/);
  });

  it('ends with an exit code and the name of the variable when its port is taken', async () => {
    const { port } = use(await listen(createServer()));
    const { child, output } = laptop.start({ TEMPORAL_PORT: String(port) });
    const [code] = await once(child, 'close');
    expect(code).toBeGreaterThan(0);
    expect(output.text).toContain(`TEMPORAL_PORT=${port} cannot be used`);
  });

  it('names log settings that are wrong, without their values', async () => {
    const { child, output } = laptop.start({ LOG_FILES: '0', LOG_FILE_MB: '-7' }, launch);
    expect(await once(child, 'exit')).toEqual([1, null]);
    expect(output.text).toContain('LOG_FILES must be a whole number from 1');
    expect(output.text).toContain('LOG_FILE_MB must be a number above 0');
    expect(output.text).not.toContain('-7');
  });

  it('says that it stops when it is asked to before it runs, and what is there then is no obstacle', async () => {
    const { child, output } = laptop.start();
    await vi.waitFor(() => expect(output.text).toContain('Starting Everpost'), readyWithin);
    const ended = once(child, 'close');
    child.kill('SIGINT');
    expect(await ended).toEqual([0, null]);
    expect(output.text).toMatch(/Stopping …\n(.*\n)*Stopped\. Your data stays\.\n$/);
    expect(output.text).not.toContain('did not start');
  });

  it('ends when npm alone is asked to', async () => {
    const { child, output } = laptop.start({}, ['npm', 'start']);
    await vi.waitFor(() => expect(output.text).toContain('Starting Everpost'), readyWithin);
    // The output closes when all programs have ended.
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
    expect(output.text).toContain('Stopped. Your data stays.');
  });

  it('runs, survives a killed API, stops without a trace, keeps the data, and plays the demo', async () => {
    const first = laptop.start();
    await first.ready();
    expect(first.output.text).toContain(`http://localhost:${env['PORT']}/docs`);
    expect(first.output.text).toContain(`http://localhost:${env['TEMPORAL_UI_PORT']}`);
    expect(first.output.text).toContain(
      `postgres://everpost@127.0.0.1:${env['POSTGRES_PORT']}/everpost (its password is in ${dataDir}/stack.json)\n`,
    );
    const request = /^First request.*\n\n((?: {2}.*\n)+)/m.exec(first.output.text)![1]!;
    expect((await run('bash', ['-c', request])).stdout).toContain('me@example.com');
    expect((await post('/auth/signup')).status).toBe(200);
    // Requests are in the log file alone.
    const log = () => readFile(join(dataDir, 'logs/api.log'), 'utf8');
    await vi.waitFor(async () => expect(await log()).toContain('"path":"/auth/signup"'));
    expect(first.output.text).not.toContain('"msg":"');

    const { api } = await stackPids(dataDir);
    process.kill(api!, 'SIGKILL');
    await vi.waitFor(async () => {
      expect((await stackPids(dataDir))['api']).not.toBe(api);
      expect((await post('/auth/login')).status).toBe(200);
    }, readyWithin);
    await stop(first.child, 'SIGTERM');

    // Addresses must be verified then, so the demo reads its mail.
    env['PLATFORM_FROM_ADDRESS'] = 'no-reply@everpost.test';
    const logs = { LOG_FILE_MB: '0.005', LOG_FILES: '3' };
    const second = laptop.start(logs, [...launch, '--verbose']);
    await second.ready();
    // In a pipe, log entries stay JSON.
    const entries = second.output.text.split('\n').filter((line) => line.startsWith('{'));
    expect(entries.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ name: 'everpost-api', msg: 'listening', host: '127.0.0.1' }),
    );
    expect((await post('/auth/login')).status).toBe(200);
    const told = await demo();
    expect(told).toContain("The workflow's execution is COMPLETED.");
    const [key] = /sk_\w+/.exec(told)!;
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`http://localhost:${env['PORT']}/workflows`, { headers })).status).toBe(
      200,
    );
    expect(told).toMatch(/pk_\w+/);
    const [, email] = /Log-in +(\S+)/.exec(told)!;
    const [, password] = /Password +(\S+)/.exec(told)!;
    expect((await post('/auth/login', { email, password })).status).toBe(200);
    await stop(second.child, 'SIGINT');
    const files = await readdir(join(dataDir, 'logs'));
    const sizes = await Promise.all(
      files.map(async (file) => (await stat(join(dataDir, 'logs', file))).size),
    );
    // The first start wrote larger files, which are counted, too.
    const names = ['api', 'postgres', 'temporal', 'worker'];
    expect([...new Set(files.map((file) => file.split('.')[0]))].toSorted()).toEqual(names);
    for (const name of names) {
      const ofLog = files.filter((file) => file.startsWith(`${name}.`));
      expect(ofLog.length).toBeLessThanOrEqual(3);
    }
    expect(files).toContain('api.log.2');
    expect(sizes[files.indexOf('api.log')]).toBeLessThanOrEqual(0.005 * 2 ** 20 + 1);
  });
});
