import { createHash } from 'node:crypto';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'console/dist');
/** The file with the hash of the sources from which the console was built. */
const stamp = join(folder, 'built-from.txt');

/**
 * Builds the console into `console/dist`, unless it was built from the current sources. Takes a few
 * seconds.
 * @param onBuild called before the build begins
 * @throws Error with the output of the bundler
 */
export async function buildConsole(onBuild: () => void = () => {}): Promise<void> {
  const hash = await hashOfSources();
  const before = await readFile(stamp, 'utf8').catch(() => null);
  if (before === hash) return;
  onBuild();
  // Vite is imported here, because loading takes a second and only developers' machines have it.
  const { build } = await import('vite');
  // The console is built next to the current console, so that a running API never reads an
  // incomplete console.
  const target = join(root, `console/dist-${process.pid}`);
  const configFile = join(root, 'console/vite.config.ts');
  const environment = process.env.NODE_ENV;
  // NODE_ENV is set, because in any other environment, such as the environment of the tests, Vite
  // bundles the React that is made for developers.
  process.env.NODE_ENV = 'production';
  try {
    await build({ configFile, logLevel: 'error', build: { outDir: target, emptyOutDir: true } });
    await compressAll(join(target, 'assets'));
    await writeFile(join(target, 'built-from.txt'), hash);
    await rm(folder, { recursive: true, force: true });
    await rename(target, folder);
  } finally {
    if (environment === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = environment;
    await rm(target, { recursive: true, force: true });
  }
}

/** Returns a hash of all sources of the console. */
async function hashOfSources(): Promise<string> {
  const inside = await readdir(join(root, 'console'), { recursive: true, withFileTypes: true });
  const sources = inside
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !file.startsWith(join(root, 'console/dist')));
  const others = [
    'client/api.ts',
    'client/everpost.ts',
    'client/error.ts',
    'dev/builds/console.ts',
    'package-lock.json',
  ];
  const all = [...sources, ...others.map((file) => join(root, file))].toSorted();
  const hash = createHash('sha256');
  for (const file of all) hash.update(file.slice(root.length)).update(await readFile(file));
  return hash.digest('hex');
}

/**
 * Compresses the text files and writes the results next to them, so that no request has to wait for
 * the compression.
 */
async function compressAll(assets: string): Promise<void> {
  const names = await readdir(assets);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  for (const name of names.filter((each) => /\.(js|css|svg)$/.test(each))) {
    const plain = await readFile(join(assets, name));
    await writeFile(join(assets, `${name}.br`), await promisify(brotliCompress)(plain, quality));
    await writeFile(join(assets, `${name}.gz`), await promisify(gzip)(plain));
  }
}
