import { configDefaults, defineConfig } from 'vitest/config';

/** Slow and rare: `npm run faults` runs them. */
const rare = [
  'test/faults/chores.test.ts',
  'test/faults/feedback.test.ts',
  'test/faults/table.test.ts',
  'test/faults/memory.test.ts',
  'test/faults/two-of-each.test.ts',
];

/** All tests. The setup starts one PostgreSQL and one Temporal server for the whole run. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, ...rare],
    globalSetup: ['test/support/processes/global-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // One more than the smallest machine has cores: many tests wait for time or for other processes.
    maxWorkers: 3,
  },
});
