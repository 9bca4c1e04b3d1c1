import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';

/** A text of the code and what stands there after the change. */
export type CodeChange = readonly [was: string, becomes: string];

const repository = path.join(import.meta.dirname, '../..');

/**
 * Bundles the workflow code as it would be after these changes to `workflows/execution.ts`. The
 * file itself is left alone: the changes are made to a copy.
 * @throws Error when the code does not hold a text that is to be changed exactly once.
 */
export async function bundleChanged(changes: readonly CodeChange[]): Promise<{ code: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everpost-changed-'));
  try {
    await cp(path.join(repository, 'workflows'), path.join(folder, 'workflows'), {
      recursive: true,
    });
    for (const name of ['domain', 'node_modules', 'package.json']) {
      await symlink(path.join(repository, name), path.join(folder, name));
    }
    const file = path.join(folder, 'workflows/execution.ts');
    await writeFile(file, change(await readFile(file, 'utf8'), changes));
    const { code } = await bundleWorkflowCode({
      workflowsPath: path.join(folder, 'workflows/index.ts'),
      logger: new DefaultLogger('ERROR'),
    });
    return { code };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function change(source: string, changes: readonly CodeChange[]): string {
  return changes.reduce((code, [was, becomes]) => {
    const parts = code.split(was);
    if (parts.length !== 2) throw new Error(`Not exactly once in workflows/execution.ts: ${was}`);
    return parts.join(becomes);
  }, source);
}
