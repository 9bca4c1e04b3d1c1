import { type RawBuilder, sql } from 'kysely';
import { openEnd } from '../../domain/outcomes/hold.ts';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import { notifyAfterCommit } from '../commits.ts';
import { type Database, transact } from '../database.ts';
import { anyOf } from '../expressions.ts';
import { signalCampaign } from '../outbox/outbox.ts';
import { pageInTurn } from '../pages.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';

/**
 * Held mail of a project is made due when a rule that may hold it has changed: the send policy, or
 * a deleted ramp. The rules are applied again when the mail is claimed. Mail that a running ramp
 * holds is made due by the ramp's run, as much as each day allows.
 */

/** Maximum number of messages made due in one transaction. */
const pageSize = 2_000;

/**
 * Requests that held mail of a project becomes due, in the transaction that changes a rule. The
 * caller then calls `releaseHeldMail`, or leaves the work to the sweep.
 */
export async function requestRelease(tx: Database, projectId: string): Promise<void> {
  await sql`
    insert into held_release (project_id, before) values (${projectId}, clock_timestamp())
      on conflict (project_id) do update set before = excluded.before`.execute(tx);
}

/** Makes held mail of a project due, page by page, until `isOver`. The sweep releases the rest. */
export async function releaseHeldMail(
  db: Database,
  projectId: string,
  isOver: () => boolean,
): Promise<void> {
  while (!(await releasePage(db, projectId)) && !isOver());
}

/**
 * Continues releases that were requested before, a page for each project in turn, until `isOver`.
 */
export async function continueHeldMail(db: Database, isOver: () => boolean): Promise<void> {
  const rows = await db.selectFrom('held_release').select('project_id').execute();
  const ids = rows.map((row) => row.project_id);
  await pageInTurn(ids, isOver, (id) => releasePage(db, id));
}

/** Releases one page. Returns true if it was the last one. */
async function releasePage(db: Database, projectId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    // Lock the request before reading the mail, so that a later request cannot change its time in
    // between.
    const request = await tx
      .selectFrom('held_release')
      .select('before')
      .where('project_id', '=', projectId)
      .forUpdate()
      .executeTakeFirst();
    if (!request) return true;
    const released = await release(
      tx,
      sql`queued.project_id = ${projectId} and queued.held_until > now()
        and email.updated_at <= ${request.before}
        limit ${pageSize}`,
    );
    if (released === pageSize) return false;
    await tx.deleteFrom('held_release').where('project_id', '=', projectId).execute();
    return true;
  });
}

/**
 * Makes held mail due, and signals the runs that send it. Returns the number of messages.
 * @param which SQL conditions on the rows `queued` and `email`, with a limit.
 */
async function release(tx: Database, which: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ project_id: string; campaign_id: string | null }>`
    with held as (
      select email.id from email_queue queued join email on email.id = queued.email_id
        where email.status = 'PENDING' and email.hold_reason <> 'operator' and email.held_until > now()
          and ${which} for update of email skip locked
    ), released as (
      update email set due_at = now(), hold_reason = null, held_until = now(), updated_at = now()
        from held where email.id = held.id
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'released' }, ['queue'])}
    select project_id, campaign_id from released`.execute(tx);
  const others = rows.filter((row) => row.campaign_id === null);
  notifyAfterCommit(
    tx,
    [...new Set(others.map((row) => row.project_id))].map((projectId) => ({
      runId: deliveryRunId(projectId),
      projectId,
    })),
  );
  const campaignIds = new Set(rows.flatMap((row) => row.campaign_id ?? []));
  const campaigns = await tx
    .selectFrom('campaign')
    .select(['id', 'project_id', 'name'])
    .where('id', '=', anyOf([...campaignIds]))
    .execute();
  for (const campaign of campaigns) await signalCampaign(tx, campaign);
  return rows.length;
}

/**
 * Makes mail due that a ramp holds, oldest first: as many messages as the ramp lets pass now, minus
 * those that were made due before and are not claimed yet. Works page by page, until `isOver`.
 * Returns true if the ramp still holds mail.
 */
export async function releaseRampMail(
  db: Database,
  { rampId, room }: { rampId: string; room: number },
  isOver: () => boolean,
): Promise<boolean> {
  const ofRamp = sql`queued.ramp_id = ${rampId} and queued.held_until = ${openEnd}::timestamptz`;
  let left = room === Infinity ? room : room - (await countReleased(db, rampId));
  while (left > 0 && !isOver()) {
    const max = Math.min(left, pageSize);
    const which = sql`${ofRamp} order by queued.email_id limit ${max}`;
    const released = await transact(db, (tx) => release(tx, which));
    if (released === 0) break;
    left -= released;
  }
  const { rows } = await sql`select from email_queue queued where ${ofRamp} limit 1`.execute(db);
  return rows.length > 0;
}

/** Counts the messages that a ramp has made due and that are not claimed yet. */
async function countReleased(db: Database, rampId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from email_queue
      where ramp_id = ${rampId} and held_until is null and lease_until is null`.execute(db);
  return rows[0]?.count ?? 0;
}
