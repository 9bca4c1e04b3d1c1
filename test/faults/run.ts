import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const usage = `Usage: npm run faults [-- NAME]

Runs all of test/faults, or the rows of docs/faults.md whose name contains NAME, and writes their
results into the table. A run of everything takes about an hour.

  --help   Print this text

With FAULT_TEMPORAL=postgresql Temporal keeps its state in PostgreSQL, as in production, and the
rows are those of docs/scaling.md.`;

const name = readName();

/** Ends the process after `--help`, and for an unknown option. */
function readName(): string {
  try {
    const options = { help: { type: 'boolean' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (!values.help) return positionals.join(' ');
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

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
