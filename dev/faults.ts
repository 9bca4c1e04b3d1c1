import { spawnSync } from 'node:child_process';

/**
 * `npm run faults [-- NAME]`: plays the faults, or those whose name contains NAME, and writes their
 * rows of docs/faults.md. With FAULT_TEMPORAL=postgresql Temporal keeps its state in PostgreSQL, as in
 * production, and the rows are those of docs/scaling.md.
 */
const name = process.argv.slice(2).join(' ');
const files = ['test/faults/table.test.ts'];
/** Files that are no row of the table, each played by itself. */
const others = [
  'chores',
  'event-subscriptions',
  'feedback',
  'import',
  'live-executions',
  'lost-temporal',
  'memory',
  'outages',
  'processes',
  'rolling-deploy',
  'send-again',
  'shared-campaign',
  'timing',
  'two-of-each',
];
if (name === '') files.push(...others.map((file) => `test/faults/${file}.test.ts`));
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
