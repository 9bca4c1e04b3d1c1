import { sql } from 'kysely';
import { type Database, transact } from './database.ts';
import { Problem, type ProblemCode } from '../domain/errors.ts';
import { limits } from '../domain/limits.ts';

/**
 * Runs queries whose cost depends on a customer's input, in one transaction, each for at most `ms`
 * milliseconds.
 * @throws Problem `problem` when a query takes longer, or is nested too deeply for PostgreSQL.
 */
export async function withinTime<Result>(
  db: Database,
  { ms, problem }: { ms: number; problem: ProblemCode },
  work: (tx: Database) => Promise<Result>,
): Promise<Result> {
  try {
    return await transact(db, async (tx) => {
      await limitStatements(tx, ms);
      return work(tx);
    });
  } catch (error) {
    throw isTooHeavy(error) ? new Problem(problem) : error;
  }
}

/** Sets a statement timeout of `ms` milliseconds for the rest of a transaction. */
export async function limitStatements(tx: Database, ms: number): Promise<void> {
  await sql`select set_config('statement_timeout', ${String(ms)}, true)`.execute(tx);
}

/** Returns true if a statement took too long, or was nested too deeply for PostgreSQL. */
export function isTooHeavy(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  // 57014: statement timeout. 54001: nested deeper than the server's stack allows.
  return code === '57014' || code === '54001';
}

/**
 * Runs queries that evaluate a customer's condition over all contacts, in one transaction with a
 * statement timeout.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function withinConditionTime<Result>(
  db: Database,
  work: (tx: Database) => Promise<Result>,
  ms: number = limits.conditionTimeMs,
): Promise<Result> {
  return withinTime(db, { ms, problem: 'CONDITION_TOO_HEAVY' }, work);
}
