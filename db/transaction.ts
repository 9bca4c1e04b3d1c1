import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { isTransient } from './sql-state.ts';

/** How often a transaction is begun before its error is the caller's. */
const attemptsMax = 5;
/** The longest pause before the second attempt, in milliseconds; it doubles from there. */
const pauseMs = 20;

/**
 * Does `work` in one transaction. One that PostgreSQL gave up although nothing was wrong with it
 * (`isTransient`) is begun again, five times in all: its locks are free by then.
 * @param work only changes the database through `tx` and answers: it may be called several times.
 */
export async function transact<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (attempt === attemptsMax || !isTransient(error)) throw error;
      // By chance: those who met in a deadlock must not meet again.
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}
