import { readStackFile } from './servers/stack-file.ts';

/** Runs the command with the database of "npm start", unless DATABASE_URL is set. */

const stack = await readStackFile(process.env['EVERPOST_DATA_DIR'] ?? './var');
if (stack) {
  process.env['DATABASE_URL'] ??= stack.databaseUrl;
  process.env['API_URL'] ??= stack.apiUrl;
}
await import('../api/break-glass.ts');
