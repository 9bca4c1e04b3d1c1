import { promises as fs } from 'node:fs';
import path from 'node:path';
import { Kysely, Migrator, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import type { DB } from './tables.ts';

/** The database handle every query takes: the pool, or the transaction of the caller. */
export type Database = Kysely<DB>;

export interface OpenDatabase {
  db: Database;
  /** The pool below it, for libraries that bring their own SQL. */
  pool: Pool;
  close(): Promise<void>;
}

/**
 * Opens a pool on `url`.
 * @param options.poolMax connections at most, 20 by default.
 */
export function openDatabase(url: string, options: { poolMax?: number } = {}): OpenDatabase {
  const pool = new Pool({ connectionString: url, max: options.poolMax ?? 20, keepAlive: true });
  // An idle connection that dies (server restart) is replaced at the next query; without a
  // listener it would end the process.
  pool.on('error', () => {});
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool }) });
  return { db, pool, close: () => db.destroy() };
}

const migrationsDir = path.join(import.meta.dirname, 'migrations');

/**
 * Brings the database at `url` to the newest migration. Several processes may call it at once:
 * Kysely's migrator takes an advisory lock, so one does the work and the others find it done.
 * @throws Error naming the migration that failed.
 */
export async function migrateToLatest(url: string): Promise<void> {
  const { db, close } = openDatabase(url, { poolMax: 2 });
  try {
    const migrator = new Migrator({ db, provider: { getMigrations: readMigrations } });
    const { error, results } = await migrator.migrateToLatest();
    if (error) {
      const failed = results?.find((result) => result.status === 'Error')?.migrationName;
      const reason = error instanceof Error ? error.message : 'unknown reason';
      throw new Error(`Migration ${failed ?? ''} failed: ${reason}`, { cause: error });
    }
  } finally {
    await close();
  }
}

async function readMigrations() {
  const files = (await fs.readdir(migrationsDir)).filter((file) => file.endsWith('.sql')).sort();
  return Object.fromEntries(
    files.map((file) => [
      path.basename(file, '.sql'),
      {
        async up(db: Kysely<unknown>): Promise<void> {
          const text = await fs.readFile(path.join(migrationsDir, file), 'utf8');
          await sql.raw(text).execute(db);
        },
      },
    ]),
  );
}

/** True when the database answers. */
export async function databaseAnswers(db: Database): Promise<boolean> {
  return sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
}
