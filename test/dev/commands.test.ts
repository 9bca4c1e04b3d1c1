import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, inject, it, vi } from 'vitest';
import { databaseAt } from '../support/servers.ts';
import { useFolder } from '../support/use.ts';

// Each test starts Node.js several times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);

/** Returns what an operator's command writes to stderr when Everpost does not run. */
async function complaintOf(script: string, ...args: string[]): Promise<string> {
  const { DATABASE_URL: _, TEMPORAL_ADDRESS: __, ...env } = process.env;
  return run('node', ['--import', 'tsx', script, ...args], {
    env: { ...env, EVERPOST_DATA_DIR: `/tmp/${randomUUID()}` },
  }).then(
    () => 'none',
    ({ stderr }: { stderr: string }) => stderr,
  );
}

it.each(['dev/replay.ts', 'dev/reset.ts', 'dev/servers/temporal-cli.ts'])(
  '%s asks nobody when nothing runs',
  async (script) => {
    expect(await complaintOf(script, randomUUID())).toContain(
      'Everpost does not run here. Run "npm start"',
    );
  },
);

it('a replay of what is no history says so', async () => {
  const complaint = await complaintOf('dev/replay.ts', 'README.md');
  expect(complaint).toContain('README.md is neither an id nor an exported history');
});

it.each(['--with-data', '--picture=x.svg', '--what-if=a=b'])(
  'a replay with %s asks for the database',
  async (option) => {
    const complaint = await complaintOf('dev/replay.ts', 'test/histories/exited.json', option);
    expect(complaint).toContain('DATABASE_URL');
    expect(complaint).not.toContain('    at ');
  },
);

it('the migration without settings says which', async () => {
  const complaint = await complaintOf('db/main.ts');
  expect(complaint).toContain('DATABASE_URL');
  expect(complaint).not.toContain('    at ');
});

it('the migration refuses an unknown argument, and changes nothing', async () => {
  const complaint = await complaintOf('db/main.ts', '--dry-run');
  expect(complaint).toContain("Unknown option '--dry-run'");
  expect(complaint).toContain('Usage: npm run migrate');
});

it.each([
  ['a server that is not there', () => 'postgres://127.0.0.1:1/everpost', 'ECONNREFUSED'],
  ['an unknown database', () => databaseAt(inject('databaseUrl'), 'none'), '"none" does not exist'],
])('the migration names %s in one sentence', async (_, databaseUrl, reason) => {
  const env = { ...process.env, DATABASE_URL: databaseUrl(), JWT_SECRET: randomUUID() };
  const migration = run('node', ['--import', 'tsx', 'db/main.ts'], { env });
  const { stderr } = await migration.catch((error: { stderr: string }) => error);
  expect(stderr).toContain(reason);
  expect(stderr).toContain('correct DATABASE_URL.\n');
  expect(stderr).not.toContain('    at ');
});

it('a replay refuses what is given twice', async () => {
  const file = 'test/histories/exited.json';
  const options = ['--what-if', 'Paid?=yes', '--what-if', 'Paid?=no'];
  const complaint = await complaintOf('dev/replay.ts', file, ...options);
  expect(complaint).toBe('--what-if can be given only once: run the command again for each.\n');
});

it.each([['--save', 'x.json'], ['--run', 'x'], ['--what-if', 'Pro?=no'], ['--inspect']])(
  'a replay of all failed executions refuses %s, which it would ignore',
  async (...options) => {
    const complaint = await complaintOf('dev/replay.ts', '--failed', ...options);
    expect(complaint).toContain(`takes only --json, not ${options[0]}.`);
  },
);

it('a replay ends silently when its output is closed', async () => {
  const script = ['--import', 'tsx', 'dev/replay.ts', 'test/histories/exited.json'];
  const replay = spawn('node', script, { stdio: ['ignore', 'pipe', 'pipe'] });
  replay.stdout.destroy();
  const [complaint] = await Promise.all([text(replay.stderr), once(replay, 'exit')]);
  expect([complaint, replay.exitCode]).toEqual(['', 2]);
});

it('a replay says what it can do', async () => {
  const { stdout } = await run('node', ['--import', 'tsx', 'dev/replay.ts', '--help']);
  const options = ['--run', '--save', '--inspect', '--json', '--failed', '--trace', '--with-data'];
  for (const option of [...options, '--picture', '--what-if']) expect(stdout).toContain(option);
  expect(await complaintOf('dev/replay.ts')).toContain('Usage:');
  expect(await complaintOf('dev/replay.ts', '--nope')).toMatch(/Unknown option '--nope'[^]*Usage:/);
});

it.each([
  [
    "export { a } from './missing.ts';\n",
    /^\S*\/workflows\/index\.ts 1:.*Can't resolve '\.\/missing\.ts'/,
  ],
  ['export async functio a() {}\n', /^\S*\/workflows\/index\.ts:1:1: Expected '{', got 'async'/],
])('workflow code that cannot be bundled is named with its fault: %s', async (code, fault) => {
  const folder = await useFolder();
  const root = join(import.meta.dirname, '../..');
  for (const name of ['node_modules', 'package.json']) {
    await symlink(join(root, name), join(folder, name));
  }
  await cp(join(root, 'worker'), join(folder, 'worker'), { recursive: true });
  await mkdir(join(folder, 'workflows'));
  await writeFile(join(folder, 'workflows/index.ts'), code);
  const script = `
    import { bundleWorkflows } from ${JSON.stringify(join(folder, 'worker/bundle.ts'))};
    await bundleWorkflows().catch((error) => console.log(error.message));`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  const { stdout } = await run('node', args, { cwd: root });
  const [first, second] = stdout.split('\n');
  expect([first, second]).toEqual([
    'The workflow code cannot be bundled.',
    expect.stringMatching(fault),
  ]);
  expect(stdout).not.toMatch(/webpack|Stack backtrace|\[built\]/i);
});
