import { configDefaults, defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** All tests, also those that only `npm run faults` runs. */
const { projects: _, ...settings } = usual.test ?? {};

export default defineConfig({
  test: { ...settings, include: ['test/**/*.test.ts'], exclude: configDefaults.exclude },
});
