import { sql } from 'kysely';
import pg from 'pg';
import { waitFor } from '../../support/wait-for.ts';
import type { World } from './world.ts';

/** A statement at which a fault can occur: it is held until it is released. */
export interface Point {
  table: string;
  when: 'insert' | 'update' | 'delete';
  /** SQL about the row, `new` or `old`. */
  condition: string;
}

export interface Hold {
  /** Resolves when a statement is held. */
  isReached(): Promise<void>;
  /** Releases the held statement and all later ones, unless its transaction is gone. */
  release(): Promise<void>;
}

/** An arbitrary number for the advisory lock; no other code uses it. */
const lock = 4_712;

/** Holds the statements of a point from now on. */
export async function holdAt({ db, engine }: World, point: Point): Promise<Hold> {
  const { table, when, condition } = point;
  const row = when === 'delete' ? 'old' : 'new';
  await sql`create or replace function hold_at() returns trigger language plpgsql as ${sql.raw(
    `$$ begin perform pg_advisory_xact_lock_shared(${lock}); return ${row}; end $$`,
  )}`.execute(db);
  await sql
    .raw(
      `create trigger hold_at before ${when} on ${table} for each row
         when (${condition}) execute function hold_at()`,
    )
    .execute(db);
  const holder = new pg.Client({ connectionString: engine.api.services.config.databaseUrl });
  // The fault may stop the server of this connection.
  holder.on('error', () => {});
  await holder.connect();
  await holder.query(`select pg_advisory_lock(${lock})`);
  return {
    async isReached() {
      await waitFor(
        `a statement at ${when} on ${table}`,
        async () => {
          const { rows } = await sql`select from pg_locks
            where locktype = 'advisory' and objid = ${lock} and not granted`.execute(db);
          return rows.length > 0;
        },
        60_000,
      );
    },
    async release() {
      await holder.end().catch(() => {});
      await waitFor(
        'the hold to be gone',
        () =>
          sql`drop function if exists hold_at cascade`.execute(db).then(
            () => true,
            () => false,
          ),
        60_000,
      );
    },
  };
}
