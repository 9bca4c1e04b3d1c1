import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseFilePath } from '../../../domain/files/kinds.ts';
import { exitCodes, Failure, unreadable } from '../frame/failure.ts';

/** Writes the files of a folder. A server decides which ones, so each path is checked before. */

/** @throws Failure if a path is outside the layout, so that a server cannot write elsewhere */
export function checkRemotePath(path: string): void {
  if (parseFilePath(path) === null) throw unsafe(path, 'is outside the layout of files');
}

function unsafe(path: string, reason: string): Failure {
  return new Failure(
    'UNSAFE_PATH',
    exitCodes.refused,
    `The path ${JSON.stringify(path)} ${reason}. Nothing was written.`,
  );
}

/**
 * Checks all paths before anything is written.
 * @throws Failure if a path leads through a symbolic link
 */
export async function checkLinks(dir: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const parts = path.split('/');
    for (const end of parts.keys()) {
      const part = parts.slice(0, end + 1).join('/');
      if (await isLink(join(dir, part))) throw unsafe(part, 'is a symbolic link');
    }
  }
}

async function isLink(file: string): Promise<boolean> {
  try {
    return (await lstat(file)).isSymbolicLink();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw unreadable(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Replaces a file as a whole, so that a killed command leaves no half of it. */
export async function writeText(dir: string, path: string, text: string): Promise<void> {
  const file = join(dir, path);
  const next = join(dirname(file), `.${process.pid}.tmp`);
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(next, text, { flag: 'wx' });
    await rename(next, file);
  } catch (error) {
    throw unreadable(`${file} cannot be written: ${(error as Error).message}`);
  } finally {
    await rm(next, { force: true });
  }
}

export async function removeFile(dir: string, path: string): Promise<void> {
  await rm(join(dir, path), { force: true });
}
