import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DefaultLogger, bundleWorkflowCode } from '@temporalio/worker';
import { recorder } from '../../../worker/bundle.ts';

/** A text in the code, and its replacement. */
export type CodeChange = readonly [was: string, becomes: string];

const repository = path.join(import.meta.dirname, '../../..');

/** The files with the code of an execution's run. */
const files = ['execution.ts', 'step-calls.ts'];

/**
 * Bundles the workflow code with these changes in the code of an execution's run. `forReplay`: adds
 * the recorder that explains divergences.
 * @throws Error when a text does not occur exactly once in the code.
 */
export async function bundleChanged(
  changes: readonly CodeChange[],
  options: { forReplay?: boolean } = {},
): Promise<{ code: string }> {
  const counts = changes.map(() => 0);
  const bundle = await bundleRewritten(
    (source, file) => (files.includes(file) ? change(source, changes, counts) : source),
    options,
  );
  const [wrong] = changes.filter((_, index) => counts[index] !== 1);
  if (wrong) throw new Error(`Not exactly once in ${files.join(' and ')}: ${wrong[0]}`);
  return bundle;
}

/**
 * Bundles the workflow code with each file of `workflows/` changed by `rewrite`. Changes copies,
 * not the files themselves.
 */
export async function bundleRewritten(
  rewrite: (source: string, file: string) => string,
  { forReplay = false }: { forReplay?: boolean } = {},
): Promise<{ code: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'everpost-changed-'));
  try {
    const workflows = path.join(folder, 'workflows');
    await cp(path.join(repository, 'workflows'), workflows, { recursive: true });
    for (const name of ['domain', 'node_modules', 'package.json']) {
      await symlink(path.join(repository, name), path.join(folder, name));
    }
    for (const name of await readdir(workflows, { recursive: true })) {
      if (!name.endsWith('.ts')) continue;
      const file = path.join(workflows, name);
      await writeFile(file, rewrite(await readFile(file, 'utf8'), name));
    }
    const { code } = await bundleWorkflowCode({
      workflowsPath: path.join(workflows, 'index.ts'),
      workflowInterceptorModules: forReplay ? [recorder] : [],
      logger: new DefaultLogger('ERROR'),
    });
    return { code };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Applies the changes whose text occurs in a source, and counts them. */
function change(source: string, changes: readonly CodeChange[], counts: number[]): string {
  return changes.reduce((code, [was, becomes], index) => {
    const parts = code.split(was);
    counts[index] = (counts[index] ?? 0) + parts.length - 1;
    return parts.join(becomes);
  }, source);
}
