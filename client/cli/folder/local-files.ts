import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type FileKind, fileFolders, parseFilePath } from '../../../domain/files/kinds.ts';
import { Failure, unreadable } from '../frame/failure.ts';

/** The texts of the files of a folder, by path from the folder, with `/`. */
export type Files = Record<string, string>;

/**
 * Returns the paths of the files in the folders of the layout. Files of journey tests and hidden
 * files are left out. Others are returned whatever their names, so that a wrong name is noticed.
 */
export async function listFiles(dir: string): Promise<string[]> {
  const paths: string[] = [];
  for (const folder of fileFolders) {
    const entries = await readdir(join(dir, folder), {
      recursive: true,
      withFileTypes: true,
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw unreadable(`${join(dir, folder)} cannot be read: ${error.message}`);
    });
    for (const entry of entries) {
      if (entry.isDirectory()) continue;
      const path = relative(dir, join(entry.parentPath, entry.name)).split(sep).join('/');
      if (!isOther(path)) paths.push(path);
    }
  }
  return paths.toSorted();
}

function isOther(path: string): boolean {
  return /(?:^|\/)\.|\.journey\.(?:yaml|json)$|\.snapshots\//.test(path);
}

/** @throws Failure if a file cannot be read as text, or is a link out of the folder */
export async function readFolder(dir: string): Promise<Files> {
  const { files, unread } = await tryToReadFolder(dir);
  const [failure] = unread.values();
  if (failure) throw failure;
  return files;
}

/** Reads the files of a folder, and returns the failures of those that cannot be read, by path. */
export async function tryToReadFolder(
  dir: string,
): Promise<{ files: Files; unread: Map<string, Failure> }> {
  const files: Files = {};
  const unread = new Map<string, Failure>();
  for (const path of await listFiles(dir)) {
    try {
      files[path] = await readInside(dir, path);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      unread.set(path, error);
    }
  }
  return { files, unread };
}

async function readInside(dir: string, path: string): Promise<string> {
  const file = join(dir, path);
  // A repository of others must not send a file of this machine to a server.
  const [real, inside] = await Promise.all([realpath(file), realpath(dir)]).catch(
    (error: Error) => {
      throw unreadable(`${path} cannot be read: ${error.message}`);
    },
  );
  if (!real.startsWith(inside + sep)) throw unreadable(`${path} is a link out of the folder.`);
  return readText(file, path);
}

/**
 * Reads a file as UTF-8.
 * @param name the file as the failure names it
 * @throws Failure
 */
export async function readText(file: string, name: string): Promise<string> {
  const bytes = await readFile(file).catch((error: Error) => {
    throw unreadable(`${name} cannot be read: ${error.message}`);
  });
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(`${name} is not a text in UTF-8.`);
  }
}

/** Returns the keys of the objects of a kind that have a file. */
export async function keysOf(dir: string, kind: FileKind): Promise<string[]> {
  const objects = (await listFiles(dir)).map(parseFilePath);
  return objects.flatMap((object) => (object?.kind === kind ? [object.key] : []));
}
