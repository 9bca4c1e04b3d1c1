import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { claimFreePort } from '../../../dev/servers/ports.ts';
import { findPythonTool } from '../python-tool.ts';
import { waitFor } from '../wait-for.ts';
import { atEnd } from '../use.ts';

/** moto from PyPI on loopback, an emulator of AWS from outside this project. */
export interface Moto {
  endpoint: string;
  /** Lists stored objects by moto's names of service and kind, such as `ses` and `RawMessage`. */
  list(service: string, kind: string): Promise<Record<string, unknown>[]>;
}

/**
 * Returns the path of the program, which is installed once per machine; null: Python or PyPI is not
 * available.
 */
function findMoto(): Promise<string | null> {
  return findPythonTool({
    name: 'moto',
    requirement: 'moto[server,s3]==5.2.5',
    program: 'moto_server',
  });
}

/** Starts moto; null: Python or PyPI is not available. */
export async function useMoto(): Promise<Moto | null> {
  const program = await findMoto();
  if (!program) return null;
  const { port, release } = await claimFreePort();
  const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
  const endpoint = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${endpoint}/moto-api/`).then(
      ({ ok }) => ok,
      () => false,
    );
  atEnd(async () => {
    const ended = once(child, 'exit');
    child.kill();
    await ended;
    await release();
  });
  await waitFor('moto', answers, 60_000);
  return {
    endpoint,
    async list(service, kind) {
      const all = await (await fetch(`${endpoint}/moto-api/data.json`)).json();
      return (
        (all as Record<string, Record<string, Record<string, unknown>[]>>)[service]?.[kind] ?? []
      );
    },
  };
}
