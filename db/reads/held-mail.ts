import { sql } from 'kysely';
import { limits } from '../../domain/limits.ts';
import type { Database } from '../database.ts';

/** Maximum number of projects whose held mail is read. */
const projectsMax = 1_000;
/** Maximum number of held messages that are read of each project. */
const heldMax = 1_000;

/**
 * Counts the messages that rules hold back, in all projects, by reason. It jumps from project to
 * project in the index of held mail, and reads at most `heldMax` entries of each.
 */
export async function countHeldMail(db: Database): Promise<Record<string, number>> {
  const { rows } = await sql<{ reason: string; messages: number }>`
    with recursive holding as (
      (select project_id, 1 as number from email_queue
        where held_until is not null order by project_id limit 1)
      union all
      select next.project_id, holding.number + 1 from holding, lateral (
        select project_id from email_queue
          where held_until is not null and project_id > holding.project_id
          order by project_id limit 1) next
        where holding.number < ${projectsMax}
    ), held as (
      (select mail.hold_reason, mail.held_until from holding, lateral (
        select hold_reason, held_until from email_queue
          where project_id = holding.project_id and held_until is not null
          order by campaign_id, held_until limit ${heldMax}) mail
        limit ${limits.countedForMetrics})
    )
    select hold_reason as reason, count(*)::int as messages from held
      where held_until > now() and hold_reason is not null group by hold_reason`.execute(db);
  return Object.fromEntries(rows.map(({ reason, messages }) => [reason, messages]));
}
