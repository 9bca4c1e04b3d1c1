import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Route } from '../../domain/routing/routing.ts';

/** Routes: they decide which mail of a project is sent through which mail provider. */

export interface StoredRouting {
  routes: Route[];
  /** null: the routes were never set. */
  updatedAt: Date | null;
}

export async function readRouting(db: Database, projectId: string): Promise<StoredRouting> {
  const row = await db
    .selectFrom('mail_routing')
    .select(['routes', 'updated_at as updatedAt'])
    .where('project_id', '=', projectId)
    .executeTakeFirst();
  return row ? (row as unknown as StoredRouting) : { routes: [], updatedAt: null };
}

/** Replaces all routes of a project. */
export async function replaceRouting(
  tx: Database,
  projectId: string,
  routes: readonly Route[],
): Promise<StoredRouting> {
  const row = await tx
    .insertInto('mail_routing')
    .values({ project_id: projectId, routes: JSON.stringify(routes) })
    .onConflict((conflict) =>
      conflict.column('project_id').doUpdateSet({
        routes: JSON.stringify(routes),
        updated_at: sql<Date>`clock_timestamp()`,
      }),
    )
    .returning(['routes', 'updated_at as updatedAt'])
    .executeTakeFirstOrThrow();
  return row as unknown as StoredRouting;
}
