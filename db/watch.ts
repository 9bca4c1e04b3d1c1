import { Pool } from 'pg';
import { listMigrations } from './migrate.ts';

/** Milliseconds within which the database must respond. */
const answerMs = 2_000;

/** The state of background work, as far as the database shows it. */
export interface BackgroundRows {
  /** Milliseconds since the newest sweep began; null: none ever began. */
  sweepAgeMs: number | null;
  /** True while runs and rows are made to agree after a restore. */
  isRestoring: boolean;
  /** True while mail waits for the operator. */
  isHolding: boolean;
}

/** A watch on the database: see `watchDatabase`. */
export interface DatabaseWatch {
  /** Returns true if the database responds within `answerMs`, has the schema, and may be written. */
  answers(): Promise<boolean>;
  /**
   * Reads the state of background work.
   * @throws Error when the database does not respond
   */
  readBackground(): Promise<BackgroundRows>;
  close(): Promise<void>;
}

/**
 * Watches the database at `url` over its own connection, so that a busy pool does not look like an
 * unavailable database. Connects on first use.
 */
export function watchDatabase(url: string): DatabaseWatch {
  const pool = new Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    idleTimeoutMillis: 0,
  });
  pool.on('error', () => {});
  let asked: Promise<boolean> | null = null;
  let migrations: readonly string[] | null = null;
  async function ask(): Promise<boolean> {
    try {
      const { rows } = await pool.query<{ isReady: boolean }>({
        name: 'ready',
        text: `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
            and not exists (select from unnest($1::text[]) as known(name)
              where name not in (select name from kysely_migration)) as "isReady"`,
        values: [(migrations ??= await listMigrations())],
      });
      return rows[0]?.isReady ?? false;
    } catch {
      return false;
    } finally {
      asked = null;
    }
  }
  return {
    // Concurrent callers share one query.
    answers: () => (asked ??= ask()),
    async readBackground() {
      const { rows } = await pool.query<BackgroundRows>(`
        select (select extract(epoch from now() - at)::float8 * 1000 from watermark
              where name = 'sweep') as "sweepAgeMs",
            exists (select from restore where ended_at is null) as "isRestoring",
            exists (select from restore where ended_at is null and held_before is not null)
              and (exists (select from email_queue where hold_reason = 'operator')
                or exists (select from campaign where held_at is not null)) as "isHolding"`);
      return rows[0] ?? { sweepAgeMs: null, isRestoring: false, isHolding: false };
    },
    close: () => pool.end(),
  };
}
