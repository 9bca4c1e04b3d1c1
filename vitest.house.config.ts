import { defineConfig } from 'vitest/config';

/** The rules of the house alone: they need no server, so `npm run check` stays quick. */
export default defineConfig({
  test: {
    include: ['test/house.test.ts', 'test/borders.test.ts', 'test/regexes.test.ts'],
    testTimeout: 60_000,
  },
});
