import { defineConfig } from 'vite';

/** The server replaces this text in each response with a new nonce (`api/console/routes.ts`). */
const cspNonce = 'EVERPOST-NONCE';

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  html: { cspNonce },
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    target: 'es2023',
    outDir: 'dist',
    emptyOutDir: true,
    // The page's policy does not allow files that are inlined as `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      onLog(level, log, handle) {
        // Libraries mark modules for server rendering, which the console does not use.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});
