import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { deletePage } from '../../pages.ts';

/** Maximum number of responses deleted at once. */
const rows = 1_000;

/**
 * Deletes the stored responses of revoked keys, page by page, until `isOver`. Requests that are
 * still running keep their `Idempotency-Key`.
 */
export async function clearAnswersOfKeys(db: Database, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const key = await db
      .selectFrom('api_key')
      .select(['id', 'project_id'])
      // Not a parameter, so that the planner can use the partial index.
      .where(sql<boolean>`clear_answers`)
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
    if (!key) return;
    const where = sql<boolean>`owner_id = ${key.project_id} and key >= ${`${key.id}\t`}
      and key < ${`${key.id}\n`} and status_code is not null`;
    while ((await deletePage(db, { table: 'idempotency', where, rows })) === rows) {
      if (isOver()) return;
    }
    await db
      .updateTable('api_key')
      .set({ clear_answers: false })
      .where('id', '=', key.id)
      .execute();
  }
}
