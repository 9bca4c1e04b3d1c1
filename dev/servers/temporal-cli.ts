import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findServers } from './connect.ts';
import { findTemporal } from './temporal-binary.ts';

/**
 * `npm run -s temporal -- <arguments>`: runs Temporal's own command line, for the server of the
 * running `npm start`, or the server in TEMPORAL_ADDRESS. Ends with the exit code of this program.
 */
async function main(): Promise<number> {
  const { temporal, temporalAddress } = await findServers(process.env);
  await temporal.close();
  const program = await findTemporal({ env: process.env, onNotice: console.error });
  const child = spawn(program, process.argv.slice(2), {
    stdio: 'inherit',
    env: { ...process.env, TEMPORAL_ADDRESS: temporalAddress },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
