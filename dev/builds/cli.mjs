import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

// JavaScript, so that `npm run everpost` does not load the TypeScript loader, which takes 0.3 s.

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'client/dist');

/**
 * Bundles the command line into one file without dependencies, which the package ships: a tenth of
 * a second. Returns its path.
 */
export async function buildCli() {
  // Imported here, because only developers' machines have the bundler.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: join(root, 'client/cli/main.ts'),
    platform: 'node',
    // The definition of what to bundle ends at Node.js.
    external: /^node:/,
  });
  // Built elsewhere, so that a running command never reads an incomplete file.
  const apart = join(root, `client/dist-${process.pid}`);
  try {
    const written = { dir: apart, entryFileNames: 'cli.js', codeSplitting: false };
    const { output } = await bundle.write({ ...written, format: 'esm' });
    await writeFile(join(apart, 'cli-licenses.txt'), await licensesOf(output[0].moduleIds));
    await mkdir(folder, { recursive: true });
    for (const name of await readdir(apart)) {
      await rename(join(apart, name), join(folder, name));
    }
  } finally {
    await bundle.close();
    await rm(apart, { recursive: true, force: true });
  }
  return join(folder, 'cli.js');
}

/**
 * Returns the licences of the bundled packages, which have to be shipped with them.
 * @param {string[]} modules
 */
async function licensesOf(modules) {
  const inside = `${sep}node_modules${sep}`;
  const folders = modules
    .filter((module) => module.includes(inside))
    .map((module) => {
      const end = module.lastIndexOf(inside) + inside.length;
      const names = module.slice(end).split(sep);
      return join(module.slice(0, end), ...names.slice(0, names[0].startsWith('@') ? 2 : 1));
    });
  const texts = [...new Set(folders)].toSorted().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    return `${name} ${version}\n\n${await readFile(join(folder, 'LICENSE'), 'utf8')}`;
  });
  return (await Promise.all(texts)).join('\n\n');
}

/** Builds what the package ships beside the compiled client: the command line and the schemas. */
export async function buildPackage() {
  await buildCli();
  const { rolldown } = await import('rolldown');
  const input = join(root, 'api/files/reading/json-schemas/schemas.ts');
  const bundle = await rolldown({ input, platform: 'node', external: /^node:/ });
  const apart = join(root, `client/dist-schemas-${process.pid}`);
  try {
    await bundle.write({ dir: apart, entryFileNames: 'schemas.mjs', format: 'esm' });
    const built = pathToFileURL(join(apart, 'schemas.mjs')).href;
    await writeSchemas(await import(built));
  } finally {
    await bundle.close();
    await rm(apart, { recursive: true, force: true });
  }
}

/** @param {typeof import('../../api/files/reading/json-schemas/schemas.ts')} made */
async function writeSchemas({ fileSchema, schemaNames }) {
  await mkdir(join(folder, 'schemas'), { recursive: true });
  for (const name of schemaNames) {
    const text = `${JSON.stringify(fileSchema(name), null, 2)}\n`;
    await writeFile(join(folder, 'schemas', name), text);
  }
}

if (process.argv[1] === import.meta.filename) await buildPackage();
