import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { NotStartedReason } from '../../domain/workflow/start.ts';

/**
 * Events that matched the trigger of a workflow but started no execution: rows of `not_started`.
 */

/** Counts the events of a period that started no execution of a workflow, by reason. */
export async function countNotStarted(
  db: Database,
  workflowId: string,
  { startDate, endDate }: { startDate?: Date | undefined; endDate?: Date | undefined },
): Promise<Record<NotStartedReason, number>> {
  const { rows } = await sql<{ reason: NotStartedReason; times: number }>`
    select reason, count(*)::int as times from not_started
      where workflow_id = ${workflowId}
        ${startDate ? sql`and at >= ${startDate}` : sql``}
        ${endDate ? sql`and at <= ${endDate}` : sql``}
      group by reason`.execute(db);
  const counts = { no_key: 0, key_too_long: 0, too_many: 0 };
  for (const { reason, times } of rows) counts[reason] = times;
  return counts;
}
