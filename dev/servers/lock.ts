import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Release = () => Promise<void>;

/**
 * Takes a lock shared by all stacks of this user on this machine; null: another process has the
 * lock. The lock is a listening local socket, which the kernel closes when its process ends. So a
 * lock never outlives a kill -9, and process ids, which may be reused, are not compared.
 * @param name letters, digits and dashes, short: socket paths are limited to about 100 characters
 */
export async function holdLock(name: string): Promise<Release | null> {
  const path = join(tmpdir(), `everpost-${process.getuid?.() ?? 0}-${name}.sock`);
  for (;;) {
    const release = await listenOn(path);
    if (release) return release;
    if (await isAnswering(path)) return null;
    // No process listens on the file, so a killed process has left it.
    await rm(path, { force: true });
  }
}

/**
 * Takes a lock for a directory, which must exist; null: another process has the lock. Different
 * paths to the same directory give the same lock.
 */
export async function holdDirectory(path: string): Promise<Release | null> {
  const digest = createHash('sha256').update(await realpath(path));
  return holdLock(`dir-${digest.digest('hex').slice(0, 16)}`);
}

async function listenOn(path: string): Promise<Release | null> {
  const server = createServer((socket) => socket.destroy());
  server.unref();
  server.listen(path);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return null;
    throw error;
  }
  return () => new Promise((resolve) => server.close(() => resolve()));
}

async function isAnswering(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
