import { once } from 'node:events';
import { createServer } from 'node:net';

import { holdLock, type Release } from './lock.ts';

/** A port that no other stack on this machine takes before `release`. */
export interface ClaimedPort {
  port: number;
  release: Release;
}

const searchedPorts = 200;

/**
 * Claims a port for a server of the stack. A port set by the user is used, or refused if it is in
 * use. A default port that is in use is replaced by the next free port.
 * @param variable the environment variable with the port, for messages
 * @param given the value of this variable; undefined or empty: not set
 * @throws Error with one sentence naming the variable
 */
export async function claimPort(
  variable: string,
  given: string | undefined,
  fallback: number,
): Promise<ClaimedPort> {
  if (!given) return claimFrom(fallback);
  const port = /^\d{1,5}$/.test(given) ? Number(given) : 0;
  if (port < 1 || port > 65_535) {
    throw new Error(`${variable} must be a port number from 1 to 65535, not "${given}".`);
  }
  const claimed = await tryClaim(port);
  if (typeof claimed !== 'string') return claimed;
  throw new Error(
    `${variable}=${port} cannot be used: ${claimed}. ` +
      `Choose another ${variable}, or leave ${variable} out to get a free port.`,
  );
}

/**
 * Claims any free port. Searches from a random port below the range that operating systems use for
 * outgoing connections, so that no such connection takes the port before the server listens.
 */
export function claimFreePort(): Promise<ClaimedPort> {
  return claimFrom(20_000 + Math.floor(Math.random() * 10_000));
}

async function claimFrom(first: number): Promise<ClaimedPort> {
  for (let port = first; port < first + searchedPorts; port += 1) {
    const claimed = await tryClaim(port);
    if (typeof claimed !== 'string') return claimed;
  }
  const last = first + searchedPorts - 1;
  throw new Error(`All ports from ${first} to ${last} are taken. End a program that uses one.`);
}

// Returns the claim, or the reason why it failed. The lock comes first, because two stacks that
// start at once would both find the port free.
async function tryClaim(port: number): Promise<ClaimedPort | string> {
  const release = await holdLock(`port-${port}`);
  if (!release) return 'another Everpost on this machine uses this port';
  // Several addresses are checked, because macOS allows 0.0.0.0 while 127.0.0.1 is in use.
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const obstacle = await whyNot(port, host);
    if (obstacle === null) continue;
    await release();
    return obstacle;
  }
  return { port, release };
}

async function whyNot(port: number, host: string): Promise<string | null> {
  const server = createServer();
  server.listen({ port, host, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'EADDRINUSE') return 'another program uses this port';
    if (code === 'EACCES') return 'this user may not listen on it';
    // Without IPv6, the port cannot be in use on this address.
    if (host === '::') return null;
    throw error;
  }
  await new Promise((resolve) => server.close(resolve));
  return null;
}
