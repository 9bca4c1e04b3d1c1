import type { JournalClaim } from './lines.ts';
import {
  type LeftFilesOptions,
  type LeftJournal,
  removeOldFiles,
  takeLeftFiles,
} from './left-files.ts';
import { readBootId } from './boot.ts';
import { type AttemptNotes, JournalWriter, noNotes } from './writer.ts';

/**
 * The journal of a worker: a file of the messages that it has begun to send, with the provider's
 * answers. After the death of the process, another process reads the file.
 */
export interface Journal {
  /** Notes that an attempt is about to claim messages. Must be called before the claim. */
  claim(claim: JournalClaim): AttemptNotes;
  /**
   * Calls `settle` for each journal file of a dead process. If `settle` throws, the file is kept,
   * and a later call tries it again.
   */
  takeLeft(settle: (journal: LeftJournal) => Promise<void>): Promise<void>;
  /** Removes files that are no longer needed. */
  removeOld(): Promise<void>;
  close(): void;
}

/** Stands for the journal of a worker without a directory for journals. Nothing is written. */
export const noJournal: Journal = {
  claim: () => noNotes,
  async takeLeft() {},
  async removeOld() {},
  close() {},
};

export interface JournalSettings {
  /** null: no journal is kept. */
  dir: string | null;
  /** Days for which a file is kept after all outcomes of its messages are in the database. */
  retentionDays: number;
}

/** Milliseconds between two log entries about lines that cannot be written. */
const warnEveryMs = 60_000;

/**
 * Opens the journal of this process.
 * @param given.database identifies the database; files for other databases are ignored
 */
export async function openJournal(
  { dir, retentionDays }: JournalSettings,
  given: {
    database: string;
    log: { warn(details: object, message: string): void };
    countFailure(): void;
  },
): Promise<Journal> {
  if (dir === null) return noJournal;
  const { database, log, countFailure } = given;
  const tryLock = await loadLocks();
  const boot = await readBootId();
  if (!tryLock || boot === null) {
    log.warn({}, 'No journal is kept: this system has no file locks, or no boot id');
    return noJournal;
  }
  let warnAt = 0;
  const onFailure = (error: unknown) => {
    countFailure();
    if (Date.now() < warnAt) return;
    warnAt = Date.now() + warnEveryMs;
    log.warn({ error, dir }, 'The journal cannot be written. Mail is sent without it');
  };
  const writer = new JournalWriter({ dir, boot, database, tryLock, onFailure });
  const isOwn = (name: string) => writer.writes(name);
  const options: LeftFilesOptions = { dir, boot, database, tryLock, isOwn };
  return {
    claim: (claim) => writer.claim(claim),
    takeLeft: (settle) => takeLeftFiles(options, settle),
    removeOld: () => removeOldFiles(options, retentionDays),
    close: () => writer.close(),
  };
}

/** Loads the function that locks files; null: the package has no build for this system. */
async function loadLocks(): Promise<((fd: number) => boolean) | null> {
  try {
    return (await import('fs-native-extensions')).tryLock;
  } catch {
    return null;
  }
}
