import { sql } from 'kysely';
import { type Database, transact } from '../database.ts';
import { waitingOf } from '../emails/queue.ts';
import { activeStatuses, cancelExecutions } from '../workflows/executions.ts';
import { lookAtSchedules } from '../schedules/schedules.ts';
import { stopRuns } from './deletion.ts';

/** Why a project is disabled. */
export type DisabledReason =
  | 'PAYMENT_FAILED'
  | 'EMAIL_REPUTATION'
  | 'PHISHING_DETECTED'
  | 'CARD_VERIFICATION_FAILED'
  | 'MANUAL';

/** Executions and messages that are ended with the request itself: no lock is held for long. */
const pageSize = 500;

/**
 * Disables a project, in the caller's transaction: its waiting mail fails, its campaigns,
 * executions and jobs are cancelled; the runs of the campaigns suppress their waiting mail. Of very
 * many executions the sweep cancels the rest; the rest of the mail fails when its turn comes. Returns
 * whether it was enabled. Call it before other rows of the project are locked.
 */
export async function disableProject(
  tx: Database,
  projectId: string,
  reason: DisabledReason,
): Promise<boolean> {
  const disabled = await tx
    .updateTable('project')
    .set({ disabled_reason: reason, updated_at: sql<Date>`now()` })
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .where('disabled_reason', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (!disabled) return false;
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
  await failWaitingMail(tx, projectId);
  return true;
}

/**
 * Cancels up to `max` executions of disabled projects: an event started them while their project
 * was being disabled, or somebody disabled it in the database. Returns how many.
 */
export async function cancelLateExecutions(db: Database, max: number): Promise<number> {
  return transact(db, async (tx) => {
    const late = await tx
      .selectFrom('project')
      .innerJoin('workflow', 'workflow.project_id', 'project.id')
      // By workflow: that index has only active executions.
      .innerJoin('execution', 'execution.workflow_id', 'workflow.id')
      .select('execution.id')
      .where('project.disabled_reason', 'is not', null)
      .where('project.removal', 'is', null)
      .where('execution.status', 'in', [sql.lit('RUNNING'), sql.lit('WAITING')])
      .limit(max)
      .execute();
    const ids = late.map((row) => row.id);
    return (await cancelExecutions(tx, ids, 'project_disabled')).length;
  });
}

/** Enables a project that was disabled for a reason. Returns whether it was. */
export async function enableProject(
  tx: Database,
  projectId: string,
  reason: DisabledReason,
): Promise<boolean> {
  const enabled = await tx
    .updateTable('project')
    .set({ disabled_reason: null, updated_at: sql<Date>`now()` })
    .where('id', '=', projectId)
    .where('removal', 'is', null)
    .where('disabled_reason', '=', reason)
    .returning('id')
    .executeTakeFirst();
  if (enabled) await lookAtSchedules(tx, projectId);
  return enabled !== undefined;
}

/** Not the campaigns' mail, maybe a million messages: their runs suppress it page by page. */
async function failWaitingMail(tx: Database, projectId: string): Promise<void> {
  await sql`
    update email set status = 'FAILED', error = 'project_disabled', updated_at = now(),
        trace = trace || trace_entry('withheld', '{"reason": "project_disabled"}')
      where status = 'PENDING'
        and id in (select email_id from ${waitingOf(sql`${projectId}`)} limit ${pageSize})`.execute(
    tx,
  );
}

/** The last times a project was disabled, newest first. */
export async function listSuspensions(db: Database, projectId: string, max: number) {
  return db
    .selectFrom('suspension')
    .select(['reason', 'at', 'ended_at'])
    .where('project_id', '=', projectId)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(max)
    .execute();
}
