import { sql } from 'kysely';
import type { Database } from '../../db/database.ts';
import type { TestAnswer, TestApi } from './api.ts';
import { waitFor } from './wait-for.ts';

/**
 * Sends a request that finds a row and, before it can write, waits for `change` to commit. Returns
 * the status and the error code of the response.
 */
export async function overtaken(
  api: TestApi,
  change: (tx: Database) => Promise<unknown>,
  send: () => Promise<TestAnswer>,
) {
  const { answer } = await api.db.transaction().execute(async (tx) => {
    await change(tx);
    const sent = send();
    await waitFor('the request to wait', async () => {
      const { rows } = await sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(api.db);
      return rows.length > 0;
    });
    return { answer: sent };
  });
  const { status, body } = await answer;
  return [status, body.error?.code];
}
