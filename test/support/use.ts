import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Runs `act` when the test that calls this is over or, outside of a test, when all tests of the
 * file (or of the `describe`) are. The last one added runs first.
 */
export function atEnd(act: () => unknown): void {
  const later = TestRunner.getCurrentTest() ? onTestFinished : afterAll;
  later(async () => void (await act()));
}

/** Closes something at the end of the test or of the file, by `atEnd`. */
export function use<T extends { close(): unknown }>(opened: T): T {
  atEnd(() => opened.close());
  return opened;
}

/** Creates an empty folder, which is removed with its content at the end. */
export async function useFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'everpost-test-'));
  // Under root PostgreSQL runs as another user, who must be able to enter it.
  await chmod(folder, 0o755);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server on a free port of this machine, until it is closed. */
export async function listen(server: Server) {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Breaks all connections as well. */
    async close(): Promise<void> {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
