import { sql } from 'kysely';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import { notifyAfterCommit } from '../commits.ts';
import { type Database, transact } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import { pageInTurn } from '../pages.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';

/**
 * Held mail of a project is made due when a rule that may hold it has changed: its send policy or a
 * ramp. The rules are then applied anew, when the mail is claimed.
 */

/** Maximum number of messages made due in one transaction. */
const pageSize = 2_000;

/**
 * Records that held mail of a project must become due, in the transaction that changes a rule. The
 * caller then calls `releaseHeldMail`, or leaves it to the sweep.
 */
export async function requestRelease(tx: Database, projectId: string): Promise<void> {
  await sql`
    insert into held_release (project_id, before) values (${projectId}, clock_timestamp())
      on conflict (project_id) do update set before = excluded.before`.execute(tx);
}

/** Makes held mail of a project due, page by page, until `isOver`; the sweep does the rest. */
export async function releaseHeldMail(
  db: Database,
  projectId: string,
  isOver: () => boolean,
): Promise<void> {
  while (!(await releasePage(db, projectId)) && !isOver());
}

/** Continues the releases that others have begun, a page of each project in turn, until `isOver`. */
export async function continueHeldMail(db: Database, isOver: () => boolean): Promise<void> {
  const rows = await db.selectFrom('held_release').select('project_id').execute();
  const ids = rows.map((row) => row.project_id);
  await pageInTurn(ids, isOver, (id) => releasePage(db, id));
}

/** Releases one page. Returns true if it was the last one. */
async function releasePage(db: Database, projectId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    // Locked before the mail is read, so a later request cannot move its time in between.
    const request = await tx
      .selectFrom('held_release')
      .select('before')
      .where('project_id', '=', projectId)
      .forUpdate()
      .executeTakeFirst();
    if (!request) return true;
    const { rows } = await sql<{ campaign_id: string | null }>`
      with held as (
        select email.id from email_queue queued join email on email.id = queued.email_id
          where queued.project_id = ${projectId} and queued.held_until > now()
            and email.status = 'PENDING' and email.hold_reason is not null and email.held_until > now()
            and email.updated_at <= ${request.before}
          limit ${pageSize} for update of email skip locked
      ), released as (
        update email set due_at = now(), hold_reason = null, held_until = now(), updated_at = now()
          from held where email.id = held.id
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'released' }, ['queue'])}
      select campaign_id from released`.execute(tx);
    const campaignIds = new Set(rows.map((row) => row.campaign_id));
    if (campaignIds.delete(null))
      notifyAfterCommit(tx, [{ runId: deliveryRunId(projectId), projectId }]);
    const campaigns = await tx
      .selectFrom('campaign')
      .select(['id', 'project_id', 'name'])
      .where('id', '=', anyOf([...campaignIds].filter((id) => id !== null)))
      .execute();
    for (const campaign of campaigns) await signalCampaign(tx, campaign);
    if (rows.length === pageSize) return false;
    await tx.deleteFrom('held_release').where('project_id', '=', projectId).execute();
    return true;
  });
}
