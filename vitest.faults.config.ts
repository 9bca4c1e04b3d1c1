import { configDefaults, defineConfig } from 'vitest/config';
import usual from './vitest.config.ts';

/** All tests, also those that only `npm run faults` runs. */
export default defineConfig({ test: { ...usual.test, exclude: configDefaults.exclude } });
