import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { claimFreePort } from '../../dev/ports.ts';
import { isRunning, stackPids } from '../support/servers.ts';

const ROOT = join(import.meta.dirname, '../..');
const READY_WITHIN = { timeout: 120_000, interval: 100 };
const PORTS = ['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'];
const USER = JSON.stringify({ email: 'ada@shop.example', password: 'correct-horse-battery' });

let dataDir: string;
let env: NodeJS.ProcessEnv;
const launched: ChildProcess[] = [];
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'everpost-start-'));
  const { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI } = process.env;
  env = { PATH, HOME, XDG_CACHE_HOME, TEMPORAL_CLI, EVERPOST_DATA_DIR: dataDir };
  for (const variable of PORTS) {
    const { port, release } = await claimFreePort();
    await release();
    env[variable] = String(port);
  }
});
afterAll(async () => {
  for (const child of launched) {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
  }
  await rm(dataDir, { recursive: true });
});

function npmStart(more: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'dev/start.ts'], {
    cwd: ROOT,
    env: { ...env, ...more },
  });
  launched.push(child);
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output.text += chunk.toString()));
  }
  const ready = () =>
    vi.waitFor(() => {
      if (child.exitCode !== null) throw new Error(`npm start ended: ${output.text}`);
      expect(output.text).toContain('Everpost is running.');
    }, READY_WITHIN);
  return { child, output, ready };
}

function post(path: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`http://localhost:${env['PORT']}${path}`, { method: 'POST', headers, body: USER });
}

async function demo(): Promise<string> {
  const args = ['--import', 'tsx', 'dev/demo.ts'];
  return (await promisify(execFile)(process.execPath, args, { cwd: ROOT, env })).stdout;
}

async function stop(child: ChildProcess, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  const pids = await stackPids(dataDir);
  expect(Object.keys(pids)).toEqual(['api', 'worker', 'temporal', 'postgres']);
  const ended = once(child, 'exit');
  child.kill(signal);
  expect(await ended).toEqual([0, null]);
  for (const pid of Object.values(pids)) expect(isRunning(pid)).toBe(false);
  for (const variable of PORTS) {
    await expect(fetch(`http://127.0.0.1:${env[variable]}`)).rejects.toThrow('fetch failed');
  }
}

describe('npm start', { timeout: 300_000 }, () => {
  it('ends with an exit code and the name of the variable when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { child, output } = npmStart({ TEMPORAL_PORT: String(port) });
    const [code] = await once(child, 'close');
    other.close();
    expect(code).toBeGreaterThan(0);
    expect(output.text).toContain(`TEMPORAL_PORT=${port} cannot be used`);
  });

  it('runs, survives a killed API, stops without a trace, keeps the data, and plays the demo', async () => {
    const first = npmStart();
    await first.ready();
    expect(first.output.text).toContain(`http://localhost:${env['PORT']}/docs`);
    expect(first.output.text).toContain(`http://localhost:${env['TEMPORAL_UI_PORT']}`);
    expect((await post('/auth/signup')).status).toBe(200);

    const { api } = await stackPids(dataDir);
    process.kill(api!, 'SIGKILL');
    await vi.waitFor(async () => {
      expect((await stackPids(dataDir))['api']).not.toBe(api);
      expect((await post('/auth/login')).status).toBe(200);
    }, READY_WITHIN);
    await stop(first.child, 'SIGTERM');

    // Addresses have to be verified then: the demo reads its mail.
    env['PLATFORM_FROM_ADDRESS'] = 'no-reply@everpost.test';
    const second = npmStart();
    await second.ready();
    expect((await post('/auth/login')).status).toBe(200);
    expect(await demo()).toContain("The workflow's execution is COMPLETED.");
    await stop(second.child, 'SIGINT');
  });
});
