import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { findMeasure } from '../../projects/reputation.ts';
import type { DisabledReason } from '../../projects/suspension.ts';
import { markSchedulesDue } from '../../schedules/schedules.ts';
import { following, ledgerColumns, whenFailing } from '../../sql/ledger.ts';
import { waitingOf } from '../../sql/mail-queue.ts';
import { cancelExecutions } from '../executions/cancel-executions.ts';
import { stopRuns } from './stop-runs.ts';
import { activeStatuses } from '../../workflows/executions/executions.ts';
import { judgeReputation, type Measure } from '../../../domain/sender/reputation.ts';

/**
 * Maximum number of executions, and of messages, that the request itself ends: few enough that no
 * lock is held for long.
 */
const pageSize = 500;

/**
 * Adds a reason for which a project is disabled, in the caller's transaction. Returns true if the
 * project was enabled before. Call it before other rows of the project are locked.
 *
 * If it was enabled, its campaigns, executions and jobs are cancelled, and the runs of the
 * campaigns suppress their waiting mail. If it has very many executions, the sweep cancels the rest
 * of them.
 *
 * Other waiting mail fails when it is due, so it is not lost if the project pays before. Only if
 * the reason is its reputation, waiting mail fails at once; the sweep fails what is left.
 */
export async function disableProject(
  tx: Database,
  projectId: string,
  reason: DisabledReason,
): Promise<boolean> {
  const { rows } = await sql<{ wasEnabled: boolean }>`
    with before as (
      select id, disabled_reason from project where id = ${projectId} for no key update
    )
    update project set disabled_reason = ${reason}, updated_at = now()
      from before
      where project.id = before.id and project.removal is null
        and before.disabled_reason is distinct from ${reason}
      returning before.disabled_reason is null as "wasEnabled"`.execute(tx);
  if (rows[0] && reason === 'EMAIL_REPUTATION') await failWaitingMail(tx, projectId);
  if (!rows[0]?.wasEnabled) return false;
  const active = await tx
    .selectFrom('execution')
    .select('id')
    .where('project_id', '=', projectId)
    .where('status', 'in', activeStatuses)
    .limit(pageSize)
    .execute();
  const ids = active.map((row) => row.id);
  await cancelExecutions(tx, ids, 'project_disabled');
  await stopRuns(tx, projectId);
  return true;
}

/**
 * Cancels up to `max` executions of disabled projects that `disableProject` has left: they were too
 * many, they started while it ran, or the project was disabled in the database. Returns their
 * number.
 */
export async function cancelLateExecutions(db: Database, max: number): Promise<number> {
  return transact(db, async (tx) => {
    const late = await tx
      .selectFrom('project')
      .innerJoin('workflow', 'workflow.project_id', 'project.id')
      // Joined by workflow, because the index on it has only active executions.
      .innerJoin('execution', 'execution.workflow_id', 'workflow.id')
      .select('execution.id')
      .where('project.disabled_reason', 'is not', null)
      .where('project.removal', 'is', null)
      .where('execution.status', 'in', activeStatuses)
      .limit(max)
      .execute();
    const ids = late.map((row) => row.id);
    return (await cancelExecutions(tx, ids, 'project_disabled')).length;
  });
}

/**
 * Lifts one of the reasons for which a project is disabled. Returns true if it was the last, so the
 * project is enabled.
 */
export async function enableProject(
  tx: Database,
  projectId: string,
  reason: DisabledReason,
): Promise<boolean> {
  await sql`select from project where id = ${projectId} for no key update`.execute(tx);
  await tx
    .updateTable('suspension')
    .set({ ended_at: sql<Date>`now()` })
    .where('project_id', '=', projectId)
    .where('reason', '=', reason)
    .where('ended_at', 'is', null)
    .execute();
  const { rows } = await sql<{ isEnabled: boolean }>`
    update project set disabled_reason = strongest_suspension(id), updated_at = now()
      where id = ${projectId} and removal is null and disabled_reason = ${reason}
      returning disabled_reason is null as "isEnabled"`.execute(tx);
  const isEnabled = rows[0]?.isEnabled ?? false;
  if (isEnabled) await markSchedulesDue(tx, projectId);
  return isEnabled;
}

/**
 * Fails the waiting mail of a project. Campaign mail is left out, maybe a million messages: the
 * runs of the campaigns suppress it page by page.
 */
async function failWaitingMail(tx: Database, projectId: string): Promise<void> {
  await failMail(tx, sql`select email_id from ${waitingOf(sql`${projectId}`)} limit ${pageSize}`);
}

/**
 * Fails up to `max` waiting messages of projects that were disabled for their reputation.
 * `disableProject` has left the messages, because they were too many or were inserted later.
 * Returns their number.
 */
export async function failLateMail(db: Database, max: number): Promise<number> {
  return failMail(
    db,
    sql`select email_id from suspension
        cross join lateral (
          select email_id from ${waitingOf(sql`suspension.project_id`)} limit ${max}) late
      where suspension.reason = 'EMAIL_REPUTATION' and suspension.ended_at is null
      limit ${max}`,
  );
}

/**
 * Fails waiting messages, because their project is disabled. Returns the number of messages.
 * @param ids SQL that selects the ids of messages.
 */
async function failMail(db: Database, ids: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql`
    with failed as (
      update email set status = 'FAILED', error = 'project_disabled', updated_at = now(),
          trace = trace || trace_entry('withheld', '{"reason": "project_disabled"}')
        where status = 'PENDING' and id in (${ids})
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'failed' }, whenFailing)}
    select from failed`.execute(db);
  return rows.length;
}

/**
 * Disables a project when the measure that has just changed is critical. The caller's transaction
 * has locked the project's row.
 */
export async function disableForReputation(
  tx: Database,
  projectId: string,
  measure: Measure,
): Promise<void> {
  const { rows } = await sql<{ age_days: number }>`
    select extract(epoch from now() - created_at)::float / 86400 as age_days
      from project where id = ${projectId} and not exists (select from suspension
        where project_id = project.id and reason = 'EMAIL_REPUTATION' and ended_at is null)`.execute(
    tx,
  );
  const [project] = rows;
  if (!project) return;
  const windows = await findMeasure(tx, projectId, measure);
  const { worst } = judgeReputation(windows, project.age_days);
  if (worst[measure] === 'critical') await disableProject(tx, projectId, 'EMAIL_REPUTATION');
}
