import { once } from 'node:events';
import type { Server } from 'node:net';

/**
 * Makes a server listen, and waits until the server listens.
 * @param at.name the environment variable with the port
 * @param at.hostSetting the environment variable with the address
 * @throws Error with a sentence for the operator when the address cannot be used
 */
export async function listen(
  server: Server,
  {
    name,
    port,
    host,
    hostSetting = 'HOST',
  }: { name: string; port: number; host: string; hostSetting?: string },
): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const sentences: Record<string, string> = {
      EADDRINUSE: `Port ${port} is in use by another program. Stop that program, or set ${name} to another port.`,
      EACCES: `This user may not use port ${port}. Set ${name} to a port above 1023.`,
      EADDRNOTAVAIL: `This machine has no address ${host}. Set ${hostSetting} to one of its addresses.`,
    };
    const sentence = sentences[code];
    throw sentence === undefined ? error : new Error(sentence, { cause: error });
  }
}
