import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Client, Pool } from 'pg';
import { isOutdatedPlan, isTransient } from './sql-state.ts';
import type { DB } from './tables.ts';

/** The database handle that every query takes: the pool, or the caller's transaction. */
export type Database = Kysely<DB>;

export interface OpenDatabase {
  db: Database;
  /** The underlying pool, for libraries that bring their own SQL. */
  pool: Pool;
  close(): Promise<void>;
}

/**
 * Opens a pool on `url`.
 * @param options.poolMax maximum connections, 20 by default.
 */
export function openDatabase(url: string, options: { poolMax?: number } = {}): OpenDatabase {
  const pool = new Pool({
    connectionString: url,
    max: options.poolMax ?? 20,
    keepAlive: true,
    Client: PreparingClient,
  });
  // A connection that dies (server restart) fails the current or the next query, and is replaced.
  // Without an error listener it would end the process: the pool listens only on idle connections,
  // not on those inside a transaction.
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  // The pool replaces a connection that is ended on release.
  pool.on('release', (_error, client) => {
    if (client instanceof PreparingClient && client.isOutdated) void client.end();
  });
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  return { db, pool, close: () => db.destroy() };
}

/** Names of prepared statements by text, and counts of the other statements. */
const statementNames = new Map<string, string | number>();
/** A statement is prepared after this many uses … */
const preparedFrom = 3;
/** … up to this many statements: more would only fill the memory of every connection. */
const preparedMax = 500;

/** The name of a statement that is worth preparing. Equal texts get equal names. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text) ?? 0;
  if (typeof known === 'string') return known;
  if (statementNames.size >= preparedMax && known === 0) return undefined;
  const next = known + 1 < preparedFrom ? known + 1 : createHash('sha1').update(text).digest('hex');
  statementNames.set(text, next);
  return typeof next === 'string' ? next : undefined;
}

/** Attempts of a statement before its error reaches the caller. */
const statementAttemptsMax = 3;

/**
 * Prepares frequent statements, so that PostgreSQL plans them once per connection. Planning was two
 * thirds of the cost of recording an event. A statement outside a transaction that failed with a
 * transient error is retried here; inside a transaction, `transact` retries.
 */
class PreparingClient extends Client {
  /** Set when a migration has changed the result type of a prepared statement. */
  isOutdated = false;

  override query(...args: unknown[]): never {
    const [text, values, callback] = args;
    if (typeof text !== 'string' || !Array.isArray(values) || callback) {
      return super.query(...(args as [string])) as never;
    }
    return this.#give(text, values) as never;
  }

  async #give(text: string, values: unknown[]): Promise<unknown> {
    const isAlone = this.getTransactionStatus() === 'I';
    for (let attempt = 1; ; attempt += 1) {
      const name = this.isOutdated ? undefined : statementName(text);
      try {
        return await (name ? super.query({ text, name }, values) : super.query(text, values));
      } catch (error) {
        if (isOutdatedPlan(error)) this.isOutdated = true;
        if (!isAlone || attempt === statementAttemptsMax || !isTransient(error)) throw error;
      }
    }
  }
}

/** True when the database responds. */
export async function databaseAnswers(db: Database): Promise<boolean> {
  return sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
}

/** Attempts of a transaction before its error reaches the caller. */
const transactionAttemptsMax = 5;
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
      if (attempt === transactionAttemptsMax || !isTransient(error)) throw error;
      // Random, so that two transactions of a deadlock do not meet again.
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}
