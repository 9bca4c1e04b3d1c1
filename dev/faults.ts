import { spawnSync } from 'node:child_process';

/**
 * `npm run faults [-- NAME]`: plays the faults, or those whose name contains NAME, and writes their
 * rows of docs/faults.md.
 */
const name = process.argv.slice(2).join(' ');
const files = ['test/faults/table.test.ts'];
// What is no row of the table is played on its own: an update, and large messages with little memory.
if (name === '') {
  files.push('test/faults/rolling-deploy.test.ts', 'test/faults/memory.test.ts');
}
const { status } = spawnSync(
  'npx',
  ['vitest', 'run', '--config', 'vitest.faults.config.ts', ...files],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      FAULT_TABLE: 'write',
      FAULT_ONLY: name,
    },
  },
);
process.exit(status ?? 1);
