import type pg from 'pg';
import { figure, printTable } from './numbers.ts';

/** The writes of PostgreSQL, counted in its write-ahead log by the extension `pg_walinspect`. */
export interface Written {
  /** Bytes of the log, without the images of pages that follow a checkpoint. */
  bytes: number;
  /**
   * Rows inserted, rows changed without new index entries (HOT), and rows changed with new ones.
   */
  inserts: number;
  hotUpdates: number;
  otherUpdates: number;
  /** Entries inserted into B-tree indexes. */
  indexEntries: number;
}

/** Lets the log be read, and keeps it until the benchmark ends. */
export async function keepLog(pool: pg.Pool): Promise<void> {
  await pool.query('create extension if not exists pg_walinspect');
  await pool.query(`alter system set wal_keep_size = '16GB'`);
  await pool.query('select pg_reload_conf()');
}

/** Returns the current position of the log, for `readLog`. */
export async function markLog(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn');
  return rows[0]?.lsn ?? '';
}

/** Reads the writes since a mark, for each of `count` pieces of work. */
export async function readLog(pool: pg.Pool, since: string, count: number): Promise<Written> {
  // `resource_manager/record_type` names the change of a record, such as `Heap/HOT_UPDATE`.
  const { rows } = await pool.query<{ kind: string; records: number; bytes: number }>(
    `select "resource_manager/record_type" as kind, count::float8 as records,
        record_size::float8 as bytes
      from pg_get_wal_stats($1, pg_current_wal_flush_lsn(), true)`,
    [since],
  );
  const sum = (of: 'records' | 'bytes', isMeant: (kind: string) => boolean) =>
    rows.reduce((total, row) => total + (isMeant(row.kind) ? row[of] : 0), 0) / count;
  const records = (pattern: RegExp) => sum('records', (kind) => pattern.test(kind));
  return {
    bytes: sum('bytes', () => true),
    inserts: records(/^Heap\/INSERT/),
    hotUpdates: records(/^Heap\/HOT_UPDATE/),
    otherUpdates: records(/^Heap\/UPDATE/),
    indexEntries: records(/^Btree\/INSERT_(LEAF|POST)/),
  };
}

/** Prints the writes of each piece of work. */
export function printWritten(list: readonly { name: string; written: Written }[]): void {
  printTable([
    ['', 'WAL bytes', 'rows', 'HOT updates', 'other updates', 'index entries'],
    ...list.map(({ name, written }) => [
      name,
      figure(written.bytes),
      figure(written.inserts),
      figure(written.hotUpdates),
      figure(written.otherUpdates),
      figure(written.indexEntries),
    ]),
  ]);
}
