import { execFile } from 'node:child_process';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { useFolder } from '../use.ts';
import { root } from './npm-start.ts';

/**
 * The release before, to be moved with each release: docs/upgrading.md says how. Until there is one, it is
 * the commit that is checked out.
 */
const releaseBefore = 'HEAD';

/**
 * The sources of the release before in a folder of their own, with the packages that are installed
 * here.
 * @throws Error when the clone does not hold the commit.
 */
export async function useReleaseBefore(): Promise<string> {
  const run = promisify(execFile);
  const home = await useFolder();
  const archive = join(home, 'sources.tar');
  await run('git', ['archive', '--output', archive, releaseBefore], { cwd: root }).catch(
    (error: unknown) => {
      throw new Error(`This clone lacks ${releaseBefore}: git fetch --unshallow`, { cause: error });
    },
  );
  const folder = join(home, 'sources');
  await mkdir(folder);
  await run('tar', ['-xf', archive, '-C', folder]);
  await rm(archive);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
