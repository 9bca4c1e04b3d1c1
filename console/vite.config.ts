import { defineConfig } from 'vite';

/** Replaced in each answer by a nonce of its own: see `api/console/routes.ts`. */
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
    // A file inside the page would be a source that its policy does not allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      onLog(level, log, handle) {
        // Libraries mark modules for servers that render pages. There is none here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handle(level, log);
      },
    },
  },
});
