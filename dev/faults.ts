import { spawnSync } from 'node:child_process';

/**
 * `npm run faults [-- NAME]`: plays all of test/faults, or those rows of docs/faults.md whose name
 * contains NAME, and writes the rows. With FAULT_TEMPORAL=postgresql Temporal keeps its state in
 * PostgreSQL, as in production, and the rows are those of docs/scaling.md.
 */
const name = process.argv.slice(2).join(' ');
const files = name === '' ? [] : ['test/faults/table.test.ts'];
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
