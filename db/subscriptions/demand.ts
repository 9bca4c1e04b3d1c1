import { sql } from 'kysely';
import type { Database } from '../database.ts';

/**
 * Returns the load of PostgreSQL by other work: if campaign mail is being sent, and the number of
 * active statements. Reads shared memory once, and one index.
 */
export async function readDemand(
  db: Database,
): Promise<{ isMailLeaving: boolean; statements: number }> {
  const { rows } = await sql<{ isMailLeaving: boolean; statements: number }>`
    select exists (select from campaign_chunk
          where attempt_id is not null and lease_until > now()) as "isMailLeaving",
        (select count(*)::int from pg_stat_activity
          where state = 'active' and datname = current_database() and pid <> pg_backend_pid()
            and wait_event_type is distinct from 'Lock') as statements`.execute(db);
  return rows[0] ?? { isMailLeaving: false, statements: 0 };
}
