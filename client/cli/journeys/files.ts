import { readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { wrongCall } from '../frame/failure.ts';

/** Finds the files of journey tests. */

const isTest = (name: string) => /\.journey\.(?:yaml|json)$/.test(name);

/**
 * Finds the files of tests.
 * @param dir the folder of the project
 * @param paths files and folders to look in; empty: the whole folder
 * @returns absolute paths, in order
 * @throws Failure for a path that does not exist, or is another file
 */
export async function findTestFiles(dir: string, paths: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const path of paths.length === 0 ? [dir] : paths) {
    const known = await stat(path).catch(() => null);
    if (!known) throw wrongCall(`There is no file or folder ${path}.`);
    if (known.isDirectory()) for (const file of await testsBelow(path)) found.add(file);
    else if (isTest(path)) found.add(resolve(path));
    else throw wrongCall(`${path} is no file of tests. Their names end in .journey.yaml.`);
  }
  return [...found].toSorted();
}

async function testsBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      const isSearched = entry.name !== 'node_modules' && entry.name !== '.git';
      if (entry.isDirectory()) return isSearched ? testsBelow(path) : [];
      return entry.isFile() && isTest(entry.name) ? [path] : [];
    }),
  );
  return found.flat();
}

/** Returns the name by which a file is reported: its path in the folder. */
export function fileName(dir: string, path: string): string {
  return relative(dir, path).split(sep).join('/');
}
