import { sql } from 'kysely';
import type { Database } from './database.ts';

/**
 * Returns the time up to which a kind of work on past rows is done. For the name `sweep`, it is the
 * time when the last sweep began. Null: the watermark was never set.
 */
export async function findWatermark(db: Database, name: string): Promise<Date | null> {
  const row = await db
    .selectFrom('watermark')
    .select('at')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.at ?? null;
}

/** Sets a watermark, which never moves back: of two concurrent calls, the later time is kept. */
export async function updateWatermark(db: Database, name: string, at: Date): Promise<void> {
  await sql`
    insert into watermark (name, at) values (${name}, ${at})
      on conflict (name) do update set at = excluded.at
        where watermark.at < excluded.at`.execute(db);
}
