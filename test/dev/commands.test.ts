import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, vi } from 'vitest';
import { useFolder } from '../support/use.ts';

// Each starts Node.js several times, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

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
  expect(complaint).toContain('README.md is neither an id nor an exported history');
});

it.each(['--with-data', '--picture=x.svg', '--what-if=a=b'])(
  'a replay with %s asks for the database',
  async (option) => {
    const complaint = await complaintOf('dev/replay.ts', 'test/histories/exited-3.json', option);
    expect(complaint).toContain('DATABASE_URL');
    expect(complaint).not.toContain('    at ');
  },
);

it('the migration without settings says which', async () => {
  const complaint = await complaintOf('db/main.ts');
  expect(complaint).toContain('DATABASE_URL');
  expect(complaint).not.toContain('    at ');
});

it('a replay says what it can do', async () => {
  const { stdout } = await run('node', ['--import', 'tsx', 'dev/replay.ts', '--help']);
  const options = ['--run', '--save', '--inspect', '--json', '--failed', '--trace', '--with-data'];
  for (const option of [...options, '--picture', '--what-if']) expect(stdout).toContain(option);
  expect(await complaintOf('dev/replay.ts')).toContain('Usage:');
  expect(await complaintOf('dev/replay.ts', '--nope')).toMatch(/Unknown option '--nope'[^]*Usage:/);
});

it('workflow code that cannot be bundled is named with its fault', async () => {
  const folder = await useFolder();
  const root = join(import.meta.dirname, '../..');
  for (const name of ['node_modules', 'package.json']) {
    await symlink(join(root, name), join(folder, name));
  }
  await cp(join(root, 'worker'), join(folder, 'worker'), { recursive: true });
  await mkdir(join(folder, 'workflows'));
  await writeFile(join(folder, 'workflows/index.ts'), "export { a } from './missing.ts';\n");
  const script = `
    import { bundleWorkflows } from ${JSON.stringify(join(folder, 'worker/bundle.ts'))};
    await bundleWorkflows().catch((error) => console.log(error.message));`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  const { stdout } = await run('node', args, { cwd: root });
  expect(stdout).toContain('The workflow code cannot be bundled.');
  expect(stdout).toContain("Can't resolve './missing.ts'");
});
