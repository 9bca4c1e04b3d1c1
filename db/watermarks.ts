import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Up to when work that looks back in time has come; null: it has never been done. */
export async function findWatermark(db: Database, name: string): Promise<Date | null> {
  const row = await db
    .selectFrom('watermark')
    .select('at')
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.at ?? null;
}

/** Records it. It never goes back: of two that work at once, the later one counts. */
export async function updateWatermark(db: Database, name: string, at: Date): Promise<void> {
  await sql`
    insert into watermark (name, at) values (${name}, ${at})
      on conflict (name) do update set at = excluded.at
        where watermark.at < excluded.at`.execute(db);
}
