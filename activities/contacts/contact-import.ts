import type { Database } from '../../db/database.ts';
import {
  failImport,
  readImportFile,
  recordImportBatch,
  startImport,
} from '../../db/transactions/contacts/import-batch.ts';
import { findJobProgress, type JobRef } from '../../db/jobs/jobs.ts';
import { CsvFault } from '../../domain/contact/csv.ts';
import { countContactRows, readContactRows } from './csv.ts';
import { timeBoxed } from '../running/time-box.ts';

export type ImportActivities = ReturnType<typeof createImportActivities>;

export interface ImportServices {
  db: Database;
}

/** The number of the first row below the header. The header is row 1. */
const firstRow = 2;

export function createImportActivities(services: ImportServices) {
  const { db } = services;
  return {
    /** Runs an import for one time slice. Returns the job's progress. */
    IMPORT_CONTACTS: (job: JobRef) =>
      timeBoxed(async (shouldContinue) => {
        await checkFile(db, job);
        await importRows(services, job, shouldContinue);
        return findJobProgress(db, job);
      }),
  };
}

/** Reads the whole file before the import, so that an unreadable file changes nothing. */
async function checkFile(db: Database, job: JobRef): Promise<void> {
  const { state } = await findJobProgress(db, job);
  if (state !== 'waiting') return;
  let rows: number;
  try {
    rows = await countContactRows(readImportFile(db, job));
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    await failImport(db, job, error.message);
    return;
  }
  await startImport(db, job, rows);
}

async function importRows(
  { db }: ImportServices,
  job: JobRef,
  shouldContinue: () => boolean,
): Promise<void> {
  const { state, done } = await findJobProgress(db, job);
  if (state !== 'active') return;
  const pieces = readContactRows(readImportFile(db, job));
  try {
    let position = done;
    let reading = pieces.next();
    while (shouldContinue()) {
      const { value: piece } = await reading;
      if (!piece) break;
      // Reads the next piece while the database works on this one. A read error is thrown when the
      // piece is awaited.
      reading = pieces.next();
      reading.catch(() => {});
      // An earlier time slice may have imported some rows of this piece already.
      const rows = piece.filter(({ row }) => row - firstRow >= position);
      if (rows.length === 0) continue;
      if (!(await recordImportBatch(db, job, { position, rows }))) break;
      position += rows.length;
    }
  } finally {
    await pieces.return();
  }
}
