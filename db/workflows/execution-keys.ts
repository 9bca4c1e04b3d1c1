import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { startKeyOf } from '../../domain/workflow/start.ts';

/** Number of newest events with a name whose data are searched for a key. */
export const keyEventsMax = 100;

/**
 * Returns true if any of the last `keyEventsMax` events with a name has a value at a path; also
 * true if there was no event with this name.
 */
export async function hasExecutionKey(
  db: Database,
  projectId: string,
  { eventName, executionKey }: { eventName: string; executionKey: string },
): Promise<boolean> {
  // Read only the property at which the path begins, because the data of an event may have 64 KB.
  const path = executionKey.replace(/^event\./, '');
  const [first = ''] = path.split('.', 1);
  const { rows } = await sql<{ data: Record<string, unknown> | null }>`
    select case when data ? ${path} then jsonb_build_object(${path}::text, data -> ${path})
        else jsonb_build_object(${first}::text, data -> ${first}) end as data
      from (select data from event where project_id = ${projectId} and name = ${eventName}
        order by created_at desc, id desc limit ${keyEventsMax}) newest`.execute(db);
  const hasKey = rows.some(({ data }) => !isMissing(startKeyOf(executionKey, data)));
  return rows.length === 0 || hasKey;
}

function isMissing(found: ReturnType<typeof startKeyOf>): boolean {
  return 'fault' in found && found.fault === 'no_key';
}
