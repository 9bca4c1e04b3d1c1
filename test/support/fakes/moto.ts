import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { findPythonTool } from '../../../dev/python-tool.ts';
import { waitFor } from '../wait-for.ts';

/** AWS as other people wrote it down: the server of moto, from PyPI, on loopback. */
export interface Moto {
  endpoint: string;
  /** What it holds of a kind (`ses`, `RawMessage`), as it calls the parts. */
  list(service: string, kind: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** The path of the program, installed once per machine; null where Python or PyPI are missing. */
export function findMoto(): Promise<string | null> {
  return findPythonTool({
    name: 'moto',
    requirement: 'moto[server,s3]==5.2.5',
    program: 'moto_server',
  });
}

/** Starts the program that `findMoto` found. */
export async function startMoto(program: string): Promise<Moto> {
  const { port, release } = await claimFreePort();
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${endpoint}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor('moto', answers, 60_000);
  return {
    endpoint,
    async list(service, kind) {
      const all = await (await fetch(`${endpoint}/moto-api/data.json`)).json();
      return (
        (all as Record<string, Record<string, Record<string, unknown>[]>>)[service]?.[kind] ?? []
      );
    },
    async close() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      await release();
    },
  };
}
