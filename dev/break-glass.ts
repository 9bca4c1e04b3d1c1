import { readStackFile } from './servers/stack-file.ts';

/** Runs the command for the database of "npm start", unless DATABASE_URL names another. */

const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
if (stack) {
  process.env['DATABASE_URL'] ??= stack.databaseUrl;
  process.env['API_URL'] ??= stack.apiUrl;
}
await import('../api/break-glass.ts');
