import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from './database.ts';

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

/**
 * Whether PostgreSQL gave up a statement that may succeed when it is given again: a serialization
 * failure or a deadlock (SQLSTATE 40001 and 40P01, see
 * https://www.postgresql.org/docs/18/mvcc-serialization-failure-handling.html), or an outdated plan.
 */
export function isTransient(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '') || isOutdatedPlan(error);
}

/**
 * Whether a statement was prepared before a migration changed the types of what it answers: "cached
 * plan must not change result type", SQLSTATE 0A000. Its connection has to forget what it prepared.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return codeOf(error) === '0A000' && (error as Error).message.includes('cached plan');
}

/**
 * Whether PostgreSQL refused a value, so that giving the statement again cannot help: SQLSTATE classes
 * 22 (data exception) and 23 (integrity constraint violation).
 */
export function isRefusal(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
