import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Client, Pool, type PoolConfig } from 'pg';
import { limits } from '../domain/limits.ts';
import { withNotes } from './commits.ts';
import { Shares } from './shares.ts';
import { isOutdatedPlan, isSilence, isTransient } from './sql-state.ts';
import type { DB } from './tables.ts';

/** The database handle that every query takes: the pool, or the transaction of the caller. */
export type Database = Kysely<DB>;

export interface OpenDatabase {
  db: Database;
  /** The pool itself, for libraries that send their own SQL. */
  pool: Pool;
  /** A handle on the pool for each tenant, so that no tenant takes all connections. */
  shares: Shares;
  /**
   * Sets a function that is called when a connection leads to another server than before, or to a
   * server that was started again: it may have other data. The connection is used afterwards.
   */
  onOtherServer(listener: () => void): void;
  close(): Promise<void>;
}

/** Maximum milliseconds for which this process waits for the database; 0: without limit. */
export interface Timeouts {
  /** Wait for a lock that another transaction holds. */
  lockMs: number;
  /** Duration of a whole statement. */
  statementMs: number;
  /** Wait for a connection: a free one of the pool, or a new one. */
  connectionMs: number;
}

/**
 * Milliseconds without a statement after which PostgreSQL ends a transaction and releases its
 * locks. Its process has then stopped, lost the network, or exports data to a client that reads too
 * slowly.
 */
const idleInTransactionMs = 60_000;
/**
 * Milliseconds that this process waits for a reply beyond the longest statement timeout. PostgreSQL
 * has ended the statement by then, so the network or the server has failed, and the connection is
 * closed.
 */
const silenceMs = 10_000;

/**
 * Opens a pool on `url`.
 * @param options.poolMax maximum number of connections, 20 by default.
 * @param options.timeouts none by default, as for `npm run re-encrypt`.
 */
export function openDatabase(
  url: string,
  options: { poolMax?: number; timeouts?: Timeouts } = {},
): OpenDatabase {
  const { timeouts } = options;
  let server = '';
  let onOtherServer = () => {};
  const pool = new Pool({
    connectionString: url,
    async onConnect(client) {
      const { rows } = await client.query<{ server: string }>(currentServer);
      const isOther = server !== '' && rows[0]?.server !== server;
      server = rows[0]?.server ?? server;
      if (isOther) onOtherServer();
    },
    max: options.poolMax ?? 20,
    keepAlive: true,
    // Only `PreparingClient` sends a statement before the previous one is answered.
    pipeline: true,
    Client: PreparingClient,
    ...(timeouts && settingsOf(timeouts)),
  });
  // If a connection dies (for example in a server restart), the current or the next query fails,
  // and the pool replaces the connection. Without an error listener the process would end, because
  // the pool listens only on idle connections, not on those inside a transaction.
  pool.on('error', () => {});
  pool.on('connect', (client) => void client.on('error', () => {}));
  // Closes a connection with outdated prepared statements when it is released. The pool opens
  // another one.
  pool.on('release', (_error, client) => {
    if (client instanceof PreparingClient && client.isOutdated) void client.end();
  });
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  const shares = new Shares(pool, db, timeouts?.connectionMs ?? 0);
  return {
    db,
    pool,
    shares,
    onOtherServer(listener) {
      onOtherServer = listener;
    },
    close: () => db.destroy(),
  };
}

/** SQL of what differs after a restore: the start of the server, and the database's own ids. */
const currentServer = `select concat_ws(' ', pg_postmaster_start_time(),
  (select oid from pg_database where datname = current_database()),
  to_regclass('event')::oid) as server`;

function settingsOf({ lockMs, statementMs, connectionMs }: Timeouts): PoolConfig {
  return {
    lock_timeout: lockMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    connectionTimeoutMillis: connectionMs,
    // Some statements set their own timeout (`withinConditionTime`).
    ...(statementMs > 0 && {
      query_timeout: Math.max(statementMs, limits.conditionTimeMs) + silenceMs,
    }),
  };
}

/**
 * For each statement text: the name of the prepared statement, or the number of uses while the
 * statement is not prepared yet.
 */
const statementNames = new Map<string, string | number>();
/** A statement is prepared from this use on. */
const preparedFrom = 3;
/** Maximum number of prepared statements. More would fill the memory of every connection. */
const preparedMax = 500;

/** Returns the name of a statement that is worth preparing. Equal texts have equal names. */
function statementName(text: string): string | undefined {
  const known = statementNames.get(text) ?? 0;
  if (typeof known === 'string') return known;
  if (statementNames.size >= preparedMax && known === 0) return undefined;
  const next = known + 1 < preparedFrom ? known + 1 : createHash('sha1').update(text).digest('hex');
  statementNames.set(text, next);
  return typeof next === 'string' ? next : undefined;
}

const noRows = { rows: [], rowCount: 0 };

/** Maximum number of attempts of a statement. */
const statementAttemptsMax = 3;

/**
 * Prepares frequent statements, so that PostgreSQL plans them once per connection: planning may
 * cost more than the rest of a statement. Retries statements outside a transaction after a
 * transient error; inside a transaction, `transact` retries.
 */
class PreparingClient extends Client {
  /** Set when a migration has changed the result type of a prepared statement. */
  isOutdated = false;
  /** The start of a transaction that has not been sent to the server yet; empty: there is none. */
  #opening = '';

  override query(...args: unknown[]): never {
    const [text, values, callback] = args;
    if (typeof text !== 'string' || !Array.isArray(values) || callback) {
      return super.query(...(args as [string])) as never;
    }
    return this.#give(text, values) as never;
  }

  async #give(text: string, values: unknown[]): Promise<unknown> {
    if (text === 'begin') {
      this.#opening = text;
      return noRows;
    }
    const opening = this.#opening;
    if (opening !== '' && text.startsWith(lockWaitsAre)) {
      this.#opening = `${opening}; ${text}`;
      return noRows;
    }
    this.#opening = '';
    if (opening !== '' && (text === 'commit' || text === 'rollback')) return noRows;
    const isAlone = opening === '' && this.getTransactionStatus() === 'I';
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await (opening === ''
          ? this.#send(text, values)
          : this.#sendAfter(opening, text, values));
      } catch (error) {
        if (isOutdatedPlan(error)) this.isOutdated = true;
        if (isSilence(error)) this.connection.stream.destroy();
        if (!isAlone || attempt === statementAttemptsMax || !isTransient(error)) throw error;
      }
    }
  }

  /** Sends the start of a transaction with its first statement: one round trip for both. */
  async #sendAfter(opening: string, text: string, values: unknown[]): Promise<unknown> {
    const { stream } = this.connection;
    stream.cork();
    const begun = super.query(opening);
    const given = this.#send(text, values);
    stream.uncork();
    // Waits for both replies before the next statement is sent.
    const answers = await Promise.allSettled([begun, given]);
    for (const answer of answers) if (answer.status === 'rejected') throw answer.reason;
    return given;
  }

  #send(text: string, values: unknown[]): Promise<unknown> {
    const name = this.isOutdated ? undefined : statementName(text);
    return name ? super.query({ text, name }, values) : super.query(text, values);
  }
}

/** Maximum number of attempts of a transaction. */
const transactionAttemptsMax = 5;
/** The pause after attempt `n` is random, from 0 to `pauseMs * 2 ** n` milliseconds. */
const pauseMs = 20;

/**
 * Runs `work` in one transaction. After a transient error (`isTransient`), the transaction is
 * rolled back and repeated, with up to `transactionAttemptsMax` attempts in all. After the commit,
 * the runs that `work` has noted (`notifyAfterCommit`) are signalled while the caller continues.
 * @param work must have effects only through `tx`, because it may be called several times.
 */
export async function transact<T>(db: Database, work: (tx: Database) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { result, dispatch } = await db.transaction().execute((tx) => withNotes(db, tx, work));
      dispatch();
      return result;
    } catch (error) {
      if (attempt === transactionAttemptsMax || !isTransient(error)) throw error;
      // The pause is random, so that the two transactions of a deadlock do not collide again.
      await sleep(Math.random() * pauseMs * 2 ** attempt);
    }
  }
}

/**
 * Runs `work` in a read-only transaction, in which all statements see the same state of the data.
 */
export async function inSnapshot<T>(
  db: Database,
  work: (snapshot: Database) => Promise<T>,
): Promise<T> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  return snapshot.execute(work);
}

const lockWaitsAre = 'set local lock_timeout = ';

/**
 * Sets how long the following statements of a transaction wait for a lock, in milliseconds. At the
 * start of a transaction, this setting costs no round trip: see `PreparingClient`.
 */
export async function limitLockWaits(tx: Database, lockMs: number): Promise<void> {
  await sql`${sql.raw(lockWaitsAre)}${sql.lit(lockMs)}`.execute(tx);
}
