import { sql } from 'kysely';
import type { GoalSums } from '../../domain/goals/goal.ts';
import type { Database } from '../database.ts';
import { finite, onlyRow } from '../expressions.ts';

/**
 * Sums of conversions by campaign and workflow. The sums stay when contacts and their mail are
 * deleted.
 */

/** Returns the sums of a campaign or workflow. */
export async function readGoalSums(db: Database, ownerId: string): Promise<GoalSums> {
  const { rows } = await sql<Omit<GoalSums, 'value'> & { value: string }>`
    select coalesce(sum(converted), 0)::int as converted,
        coalesce(sum(conversions), 0)::float8 as conversions,
        coalesce(round(sum(value), 6), 0)::text as value
      from goal_tally where owner_id = ${ownerId}`.execute(db);
  const row = onlyRow(rows);
  return { ...row, value: finite(Number(row.value)) };
}

/** Maximum number of new rows that one statement folds. */
const foldedAtOnce = 20_000;

/**
 * Replaces the new rows of each campaign and workflow by one row with their sums. Rows of a deleted
 * campaign or workflow are only deleted. Returns true if there may be more. If there are no new
 * rows, it reads nothing.
 */
export async function foldGoalTally(db: Database): Promise<boolean> {
  const { rows } = await sql<{ count: number }>`
    with page as (
      select ctid as row, owner_id from goal_tally where fresh limit ${foldedAtOnce}
    ), gone as (
      delete from goal_tally where ctid = any(array(select row from page))
        returning owner_id, project_id, converted, conversions, value
    ), folded as (
      delete from goal_tally tally using (select distinct owner_id from page) touched
        where tally.owner_id = touched.owner_id and not fresh
        returning tally.owner_id, project_id, converted, conversions, value
    ), sums as (
      insert into goal_tally (owner_id, project_id, converted, conversions, value, fresh)
        select owner_id, project_id, sum(converted), sum(conversions), sum(value), false
          from (select owner_id, project_id, converted, conversions, value from gone
            union all select owner_id, project_id, converted, conversions, value from folded) row
          where exists (select from campaign where id = owner_id)
            or exists (select from workflow where id = owner_id)
          group by 1, 2
    )
    select count(*)::int as count from page`.execute(db);
  return rows[0]?.count === foldedAtOnce;
}
