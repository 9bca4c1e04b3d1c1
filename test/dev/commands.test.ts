import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

/** What a command of the operators writes where nothing of Everpost runs. */
async function complaintOf(script: string, ...args: string[]): Promise<string> {
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, ...env } = process.env;
  return run('node', ['--import', 'tsx', script, ...args], {
    env: { ...env, EVERPOST_DATA_DIR: `/tmp/${randomUUID()}` },
  }).then(
    () => 'none',
    ({ stderr }: { stderr: string }) => stderr,
  );
}

it.each(['dev/replay.ts', 'dev/reset.ts'])('%s asks nobody when nothing runs', async (script) => {
  expect(await complaintOf(script, randomUUID())).toContain('Nothing runs here. Run "npm start"');
});

it('a replay of what is no history says so', async () => {
  const complaint = await complaintOf('dev/replay.ts', 'README.md');
  expect(complaint).toContain(
    'README.md is neither the id of an execution nor an exported history',
  );
});

it('the migration without settings says which', async () => {
  const complaint = await complaintOf('db/main.ts');
  expect(complaint).toContain('DATABASE_URL');
  expect(complaint).not.toContain('    at ');
});
