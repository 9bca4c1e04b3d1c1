import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type ReadJournal, readJournal } from './lines.ts';
import { endings } from './writer.ts';

/** Finds the files in a directory that no living process writes. */

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
   * True if the file has everything that its process wrote, so that messages that the file does not
   * name were certainly not given to the mail provider.
   */
  isComplete: boolean;
}

/**
 * Milliseconds without a change after which a file may be taken over. PostgreSQL may still execute
 * the last claim of a process that has just died.
 */
const restMs = 5_000;
/** Milliseconds after which a file without a lock counts as abandoned during its creation. */
const creatingMs = 60_000;
/** Maximum number of bytes of all files in the directory together. */
const bytesMax = 1024 ** 3;

const namePattern = /^\d{8}T\d{6}-[\da-f]{8}\.(?:new|open|done)$/;

/**
 * Calls `settle` for each file of a dead process with this database, and marks the file as done. If
 * `settle` throws, the file stays unchanged. The lock on a file shows if its process is alive. A
 * suspended process keeps the lock.
 * @throws AggregateError when files could not be taken over. The other files were tried, too.
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
      // The absolute difference is used, so that a clock that was set back does not delay the file.
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
  if (failures.length > 0)
    throw new AggregateError(
      failures,
      'Journals of dead workers could not be taken over. They are tried again every five seconds.',
    );
}

/**
 * Removes files that have been done for `retentionDays`, and the oldest done files while all files
 * together exceed a gigabyte. A file of a dead process that is not done, for example because it
 * belongs to another database, is also removed after `retentionDays`.
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

/** Returns the names of all journal files, oldest first. */
async function listFiles(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    // The directory does not exist, because no worker has written yet.
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => namePattern.test(name)).toSorted();
}

/**
 * Calls `work` with a file if the file still exists and no other process has locked it. The lock is
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
    // Another process may have renamed the file between opening and locking.
    const [locked, named] = [await file.stat(), await stat(path).catch(() => null)];
    if (locked.ino === named?.ino) await work(file);
  } finally {
    await file.close();
  }
}
