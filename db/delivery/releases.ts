import { sql } from 'kysely';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import { notifyAfterCommit } from '../commits.ts';
import { type Database, transact } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import { pageInTurn } from '../pages.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';

/** Maximum number of messages made due in one transaction. */
const pageSize = 2_000;

/**
 * Makes mail due that was held before its project's send policy changed, page by page, until
 * `isOver`; the sweep does the rest. The new policy is applied when the mail is claimed.
 */
export async function releaseHeldMail(
  db: Database,
  projectId: string,
  isOver: () => boolean,
): Promise<void> {
  while (!(await releasePage(db, projectId)) && !isOver());
}

/** Continues the releases that requests have begun, a page of each project in turn, until `isOver`. */
export async function continueHeldMail(db: Database, isOver: () => boolean): Promise<void> {
  const rows = await db
    .selectFrom('send_policy')
    .select('project_id')
    .where('released_to', 'is not', null)
    .execute();
  const ids = rows.map((row) => row.project_id);
  await pageInTurn(ids, isOver, (id) => releasePage(db, id));
}

/** Releases one page. Returns true if it was the last one. */
async function releasePage(db: Database, projectId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    // Locked before the mail is read, so a later change of the policy cannot move `released_to` in
    // between.
    await tx
      .selectFrom('send_policy')
      .select('project_id')
      .where('project_id', '=', projectId)
      .forUpdate()
      .execute();
    const { rows } = await sql<{ campaign_id: string | null }>`
      with held as (
        select email.id from send_policy
          join email_queue queued on queued.project_id = send_policy.project_id
          join email on email.id = queued.email_id
          where send_policy.project_id = ${projectId} and queued.held_until > now()
            and email.status = 'PENDING' and email.hold_reason is not null and email.held_until > now()
            and email.updated_at <= released_to
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
    await tx
      .updateTable('send_policy')
      .set({ released_to: null })
      .where('project_id', '=', projectId)
      .execute();
    return true;
  });
}
