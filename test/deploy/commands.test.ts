import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useFolder } from '../support/use.ts';

const root = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a command. `env` is all of its environment. */
async function play(file: string, args: string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const command = ['--import', 'tsx', file, ...args];
  return run(process.execPath, command, { cwd: root, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: Ended) => error,
  );
}

describe.each([
  ['dev/helm/helm-test.ts', 'helm is missing'],
  ['dev/image/image-test.ts', 'buildah is missing'],
])('%s', (file, missing) => {
  it('explains its options and exit codes', async () => {
    const { code, stdout } = await play(file, ['--help'], process.env);
    expect(code).toBe(0);
    expect(stdout).toContain('--json');
    expect(stdout).toContain('Exit codes: 0');
  });

  it('ends with 2 for an unknown option', async () => {
    const { code, stdout, stderr } = await play(file, ['--nonsense'], process.env);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain("Unknown option '--nonsense'");
  });

  it('ends with 2 without a tool that it needs, and names it', async () => {
    // Go is also looked for where it is usually installed, but cannot download without a proxy.
    const env = {
      PATH: '',
      XDG_CACHE_HOME: await useFolder(),
      GOPROXY: 'off',
      GOFLAGS: '-mod=mod',
    };
    const { code, stdout, stderr } = await play(file, ['--json'], {
      ...env,
      HOME: env.XDG_CACHE_HOME,
    });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(missing);
    expect(stderr).not.toContain('    at ');
  });
});
