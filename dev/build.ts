import { execFile } from 'node:child_process';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtBundle, bundleWorkflows } from '../worker/bundle.ts';
import { buildPackage } from './builds/cli.mjs';
import { buildConsole } from './builds/console.ts';

const root = join(import.meta.dirname, '..');
const target = join(root, 'dist');

/**
 * Builds for production into `dist/`: the code as JavaScript, the migrations, the documentation,
 * the console, and the bundle of the workflow code. Builds the command line into `client/dist/`. A
 * process from `dist/` starts faster and uses about 180 MB less, because it loads neither the
 * TypeScript loader nor the bundler.
 * @throws Error with the output of the compiler or the bundler.
 */
export async function build(): Promise<void> {
  await rm(target, { recursive: true, force: true });
  await compile();
  // Browsers load the scripts of `api/docs/browser` unchanged, because the compiler would turn each
  // script into a module.
  for (const folder of ['db/migrations', 'docs', 'api/docs/browser']) {
    await cp(join(root, folder), join(target, folder), { recursive: true });
  }
  await buildConsole();
  await cp(join(root, 'console/dist'), join(target, 'console/dist'), { recursive: true });
  await buildPackage();
  const { code } = await bundleWorkflows();
  await writeFile(join(target, 'worker', builtBundle), code);
}

async function compile(): Promise<void> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const args = [compiler, '--project', join(root, 'tsconfig.build.json'), '--outDir', target];
  await promisify(execFile)(process.execPath, args).catch((error: { stdout?: string }) => {
    throw new Error(`The code cannot be compiled.\n${error.stdout}`, { cause: error });
  });
}

if (process.argv[1] === import.meta.filename) await build();
