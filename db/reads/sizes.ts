import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { onlyRow } from '../expressions.ts';

/** Maximum number of tables whose size is read. */
const tablesMax = 30;

/** Sizes on the disk, in bytes, with indexes. */
export interface Sizes {
  database: number;
  /** The largest tables. Partitions count as their table. */
  tables: Record<string, number>;
}

/** Reads sizes from the files of the database, without reading rows. */
export async function readSizes(db: Database): Promise<Sizes> {
  const { rows } = await sql<Sizes>`
    select pg_database_size(current_database())::float8 as database,
      (select coalesce(jsonb_object_agg(name, bytes), '{}') from (
        select coalesce(parent.relname, file.relname) as name,
            sum(pg_total_relation_size(file.oid))::float8 as bytes
          from pg_class file
            left join pg_inherits on inhrelid = file.oid
            left join pg_class parent on parent.oid = inhparent
          where file.relkind = 'r' and file.relnamespace = current_schema()::regnamespace
          group by 1 order by 2 desc limit ${tablesMax}) largest) as tables`.execute(db);
  return onlyRow(rows);
}

/** Returns the time of the database's clock, in milliseconds since 1970. */
export async function readClock(db: Database): Promise<number> {
  const { rows } = await sql<{ now: number }>`
    select extract(epoch from clock_timestamp())::float8 * 1000 as now`.execute(db);
  return onlyRow(rows).now;
}
