import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const usage = `Usage: npm run simulate -- [--seed N] [--histories N] [--verbose]

Simulates executions with random failures, one history for each seed, and names the first seed that
breaks a promise.

  --seed N        The first seed (default 1)
  --histories N   Number of histories (default 1000; 1 with --seed)
  --verbose       Print every operation
  --help          Print this text`;

const values = readArguments();

/** Reads the arguments. After `--help`, and for an unknown argument, ends the process. */
function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        histories: { type: 'string' },
        verbose: { type: 'boolean', default: false },
        help: { type: 'boolean' },
      },
    });
    if (!values.help) return values;
    console.log(usage);
    process.exit(0);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}
// With a seed, the user wants to see only the history of this seed.
const isOne = process.argv.includes('--seed');
const { status } = spawnSync('npx', ['vitest', 'run', 'test/simulation/simulate.test.ts'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SIMULATE_SEED: values.seed,
    SIMULATE_HISTORIES: values.histories ?? (isOne ? '1' : '1000'),
    SIMULATE_VERBOSE: values.verbose ? '1' : '0',
  },
});
process.exit(status ?? 1);
