import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { useFolder } from '../use.ts';
import { root } from './npm-start.ts';

/** The schema that the next build has more: columns that this build does not know, and a table. */
const addition = [
  ...['contact', 'email', 'campaign', 'execution', 'event'].map(
    (table) => `alter table ${table} add column next_build text;`,
  ),
  'create table next_build (project_id uuid primary key);',
].join('\n');

/**
 * The sources of this build in a folder of their own, with a schema file more: what the next release is
 * to this one. Packages are shared.
 */
export async function useNextBuild(): Promise<string> {
  const folder = join(await useFolder(), 'sources');
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ':!test', ':!bench'],
    { cwd: root, maxBuffer: 16 * 1024 * 1024 },
  );
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(root, file), join(folder, file));
  }
  const migrations = join(folder, 'db/migrations');
  const count = (await readdir(migrations)).length;
  const number = String(count + 1).padStart(4, '0');
  await writeFile(join(migrations, `${number}-next-build.sql`), addition);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
