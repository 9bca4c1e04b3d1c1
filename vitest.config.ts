import { configDefaults, defineConfig } from 'vitest/config';

/** Slow and rare: `npm run faults` plays them. */
const rare = 'test/faults/**';

/**
 * Watch or change what a process has once: modules, clocks, the spies of statements, memory, the
 * runtime of Temporal's SDK.
 */
const alone = [
  'test/api/http/body-limits.test.ts',
  'test/db/transaction.test.ts',
  'test/dev/**/*.test.ts',
  'test/golden.test.ts',
  'test/providers/mail/smtp/pipelining.test.ts',
  'test/simulation/simulate.test.ts',
  'test/workflows/replay/divergence.test.ts',
  'test/workflows/replay/replay-gate.test.ts',
  'test/workflows/replay/replay.test.ts',
  'test/workflows/upkeep/silent-temporal.test.ts',
  'test/workflows/upkeep/worker-log.test.ts',
];

const settings = {
  testTimeout: 30_000,
  hookTimeout: 120_000,
  pool: 'forks',
} as const;

/** All tests. The setup starts one PostgreSQL and one Temporal server for the whole run. */
export default defineConfig({
  test: {
    ...settings,
    globalSetup: ['test/support/processes/global-setup.ts'],
    // One more than the smallest machine has cores: many tests wait for time or for other processes.
    maxWorkers: 3,
    projects: [
      {
        // The files of a process share its modules: to load them for each took a third of the time.
        test: {
          ...settings,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, rare, ...alone],
          isolate: false,
        },
      },
      { test: { ...settings, name: 'alone', include: alone, exclude: configDefaults.exclude } },
    ],
  },
});
