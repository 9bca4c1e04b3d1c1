import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Runs `act` at the end of the test that calls `atEnd`, or at the end of the file or `describe` if
 * no test runs. The function that was added last runs first.
 */
export function atEnd(act: () => unknown): void {
  const later = TestRunner.getCurrentTest() ? onTestFinished : afterAll;
  later(async () => void (await act()));
}

/** Closes an object at the end of the test or of the file, by `atEnd`. */
export function use<T extends { close(): unknown }>(opened: T): T {
  atEnd(() => opened.close());
  return opened;
}

/** Creates an empty folder, which is removed with its content at the end. */
export async function useFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'everpost-test-'));
  // If this process runs as root, PostgreSQL runs as another user, who must be able to enter the
  // folder.
  await chmod(folder, 0o755);
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server on a free port of this machine. */
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
    /** Closes the server and all its connections. */
    async close(): Promise<void> {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
