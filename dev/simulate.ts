import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * `npm run simulate -- [--seed N] [--histories N] [--verbose]`: plays so many histories from a seed
 * on, one history to each seed; the first that breaks a promise is named. With `--verbose`, all
 * that happens in them.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
// One seed is played to look at it.
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
