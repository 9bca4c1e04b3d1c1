import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';

/**
 * The folder of the built console, which `dev/builds/console.ts` creates. In production, this file
 * and the folder are below `dist`.
 */
export const consoleFolder = join(import.meta.dirname, '../../console/dist');

/** A file, and its compressed forms for browsers that accept them. */
export interface ServedFile {
  type: string;
  plain: Buffer;
  br?: Buffer;
  gzip?: Buffer;
}

export interface BuiltConsole {
  /**
   * The HTML page for all addresses of the console, with a placeholder for the nonce of each
   * response.
   */
  page: string;
  /** The files that the page loads, by name. The names contain a hash of the content. */
  assets: ReadonlyMap<string, ServedFile>;
}

const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Reads the built console into memory, about 3 MB. @throws Error when it was not built */
export async function readConsole(folder = consoleFolder): Promise<BuiltConsole> {
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  const names = await readdir(join(folder, 'assets'));
  const shown = names.filter((name) => types[extname(name)] !== undefined);
  const read = async (name: string) => readFile(join(folder, 'assets', name));
  const asset = async (name: string): Promise<[string, ServedFile]> => {
    const file: ServedFile = { type: types[extname(name)]!, plain: await read(name) };
    if (names.includes(`${name}.br`)) file.br = await read(`${name}.br`);
    if (names.includes(`${name}.gz`)) file.gzip = await read(`${name}.gz`);
    return [name, file];
  };
  return { page, assets: new Map(await Promise.all(shown.map(asset))) };
}
