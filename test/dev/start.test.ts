import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { createLaptop, type Laptop, PORTS, READY_WITHIN, ROOT } from '../support/npm-start.ts';
import { isRunning, stackPids } from '../support/servers.ts';

const USER = JSON.stringify({ email: 'ada@shop.example', password: 'correct-horse-battery' });

let laptop: Laptop;
let dataDir: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  laptop = await createLaptop();
  ({ dataDir, env } = laptop);
});
afterAll(() => laptop.close());

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
    const { child, output } = laptop.start({ TEMPORAL_PORT: String(port) });
    const [code] = await once(child, 'close');
    other.close();
    expect(code).toBeGreaterThan(0);
    expect(output.text).toContain(`TEMPORAL_PORT=${port} cannot be used`);
  });

  it('runs, survives a killed API, stops without a trace, keeps the data, and plays the demo', async () => {
    const first = laptop.start();
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
    const second = laptop.start();
    await second.ready();
    expect((await post('/auth/login')).status).toBe(200);
    expect(await demo()).toContain("The workflow's execution is COMPLETED.");
    await stop(second.child, 'SIGINT');
  });
});
