import { configDefaults, defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** The tests that only `npm run faults` plays. */
const { projects: _, ...settings } = usual.test ?? {};

export default defineConfig({
  test: {
    ...settings,
    // Started processes take long on a busy machine.
    testTimeout: 120_000,
    include: ['test/faults/**/*.test.ts'],
    exclude: configDefaults.exclude,
  },
});
