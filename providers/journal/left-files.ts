import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ReadJournal, readJournal } from './lines.ts';
import { endings } from './writer.ts';

/** The files of a directory that no living process writes. */

export interface LeftFilesOptions {
  dir: string;
  boot: string;
  database: string;
  tryLock: (fd: number) => boolean;
  /** Returns true for a file that this process writes. */
  isOwn(name: string): boolean;
}

/** A file of a dead process. */
export interface LeftJournal extends ReadJournal {
  name: string;
  /**
   * True if the file has all that its process wrote, so that a message which it does not name was
   * certainly not given to the mail provider.
   */
  isComplete: boolean;
}

/**
 * Milliseconds for which a file must rest before it is taken over. PostgreSQL may still execute the
 * last claim of a process that has just died.
 */
const restMs = 5_000;
/** Milliseconds after which a file counts as left that its process has created but not locked. */
const creatingMs = 60_000;
/** Maximum number of bytes of all files together. */
const bytesMax = 1024 ** 3;

const namePattern = /^\d{8}T\d{6}-[\da-f]{8}\.(?:new|open|done)$/;

/**
 * Calls `settle` for each file of a dead process on this database, and marks the file as done. A
 * file stays as it is if `settle` throws. The lock of a file says whether its process lives; a
 * stopped process keeps it.
 * @throws AggregateError when a file could not be taken over. The others were tried, too.
 */
export async function takeLeftFiles(
  options: LeftFilesOptions,
  settle: (journal: LeftJournal) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const name of await listFiles(options.dir)) {
    if (!name.endsWith(endings.open) || options.isOwn(name)) continue;
    const work = withLocked(options, name, async (file) => {
      const { mtimeMs } = await file.stat();
      // A clock that was set back must not make the file wait.
      if (Math.abs(Date.now() - mtimeMs) < restMs) return;
      const journal = readJournal(await file.readFile());
      const { header, isWhole } = journal;
      if (header && header.database !== options.database) return;
      const isComplete = isWhole && header?.boot === options.boot;
      await settle({ ...journal, name, isComplete });
      const path = join(options.dir, name);
      await rename(path, path.replace(endings.open, endings.done));
    });
    await work.catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, 'A journal was not taken over.');
}

/**
 * Removes files that have been done for `retentionDays`, and the oldest ones of those beyond a
 * gigabyte. Removes other files of dead processes after the same time: those of other databases.
 */
export async function removeOldFiles(
  options: LeftFilesOptions,
  retentionDays: number,
): Promise<void> {
  const { dir, isOwn } = options;
  let total = 0;
  for (const name of (await listFiles(dir)).toReversed()) {
    const found = await stat(join(dir, name)).catch(() => null);
    if (!found) continue;
    const ageMs = Date.now() - found.mtimeMs;
    const isOld = ageMs > (name.endsWith(endings.new) ? creatingMs : retentionDays * 86_400_000);
    total += found.size;
    if (name.endsWith(endings.done)) {
      if (isOld || total > bytesMax) await unlink(join(dir, name));
    } else if (isOld && !isOwn(name)) {
      await withLocked(options, name, () => unlink(join(dir, name)));
    }
  }
}

/** Returns the names of the files of journals, oldest first. */
async function listFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    // No worker has written a line yet.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => namePattern.test(name)).toSorted();
}

/**
 * Calls `work` with a file if no other process has locked it, and if it still exists. The lock is
 * held until `work` is done.
 */
async function withLocked(
  { dir, tryLock }: LeftFilesOptions,
  name: string,
  work: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const path = join(dir, name);
  let file: FileHandle;
  try {
    file = await open(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    if (!tryLock(file.fd)) return;
    // Another process may have taken it between the two calls.
    const [locked, named] = [await file.stat(), await stat(path).catch(() => null)];
    if (locked.ino === named?.ino) await work(file);
  } finally {
    await file.close();
  }
}
