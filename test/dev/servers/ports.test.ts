import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { holdLock } from '../../../dev/servers/lock.ts';
import { claimFreePort, claimPort, type ClaimedPort } from '../../../dev/servers/ports.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function listen(port: number, host: string): Promise<Server> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  open.push(() => new Promise((resolve) => server.close(resolve)));
  return server;
}

/** Returns a free port whose next port is free as well. */
async function freePair(): Promise<number> {
  for (;;) {
    const first = await claimFreePort();
    const second = await claimPort('SECOND', undefined, first.port + 1);
    await first.release();
    await second.release();
    if (second.port === first.port + 1) return first.port;
  }
}

async function claim(...args: Parameters<typeof claimPort>): Promise<ClaimedPort> {
  const claimed = await claimPort(...args);
  open.push(claimed.release);
  return claimed;
}

describe('claimPort', () => {
  it('takes the default port when it is free', async () => {
    const port = await freePair();
    expect((await claim('PORT', undefined, port)).port).toBe(port);
  });

  it.each(['127.0.0.1', '0.0.0.0', '::'])(
    'takes the next port when a program listens on the default one at %s',
    async (host) => {
      const port = await freePair();
      await listen(port, host);
      expect((await claim('PORT', undefined, port)).port).toBe(port + 1);
    },
  );

  it('gives two starts at the same moment different ports', async () => {
    const port = await freePair();
    const claimed = await Promise.all([
      claim('PORT', undefined, port),
      claim('PORT', undefined, port),
    ]);
    expect(new Set(claimed.map((one) => one.port)).size).toBe(2);
  });

  it.each(['PORT', 'POSTGRES_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT'])(
    'refuses a taken port that was given, naming %s',
    async (variable) => {
      const port = await freePair();
      await listen(port, '127.0.0.1');
      await expect(claimPort(variable, String(port), 1)).rejects.toThrow(
        `${variable}=${port} cannot be used: another program uses this port.`,
      );
    },
  );

  it.each(['abc', '0', '65536', '-1', '80.5'])('refuses PORT=%s', async (given) => {
    await expect(claimPort('PORT', given, 8080)).rejects.toThrow(
      `PORT must be a port number from 1 to 65535, not "${given}".`,
    );
  });

  it('treats an empty variable as not set', async () => {
    const port = await freePair();
    expect((await claim('PORT', '', port)).port).toBe(port);
  });
});

describe('holdLock', () => {
  it('gives a lock to one holder at a time', async () => {
    const name = `test-${process.pid}`;
    const release = await holdLock(name);
    expect(release).not.toBeNull();
    expect(await holdLock(name)).toBeNull();
    await release?.();
    const again = await holdLock(name);
    expect(again).not.toBeNull();
    await again?.();
  });
});
