import { defineConfig } from 'vitest/config';

/** The house test alone: it needs no server, so `npm run check` stays quick. */
export default defineConfig({ test: { include: ['test/house.test.ts'], testTimeout: 60_000 } });
