import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';
import { isTransient } from './sql-state.ts';

/** Attempts of a transaction before its error reaches the caller. */
const attemptsMax = 5;
/** The longest pause before the second attempt, in milliseconds; it doubles from there. */
const pauseMs = 20;

/**
 * Runs `work` in one transaction. It is retried after a transient error (`isTransient`), five
 * attempts in all: its locks are free by then.
 * @param work must have no effects but through `tx`: it may be called several times.
 */
export async function transact<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (attempt === attemptsMax || !isTransient(error)) throw error;
      // Random, so that two transactions of a deadlock do not meet again.
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}
