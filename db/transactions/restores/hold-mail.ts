import { type RawBuilder, sql } from 'kysely';
import { type Database, transact } from '../../database.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { heldUntilDecided, holdingForOperator } from '../../sql/mail-queue.ts';

/**
 * Holds all mail of before a restore: messages, and campaigns that are scheduled or being sent. Until
 * this is done, no worker hands over mail.
 */

/** Maximum number of messages, and of campaigns, that one transaction reads. */
const pageSize = 1_000;
/** Maximum number of chunks that one transaction takes apart. */
const chunksMax = 20;

/** Holds the mail of open restores, page by page. Another process may do the same at the same time. */
export async function holdMail(db: Database): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from restore
      where ended_at is null and held_before is not null and not is_held`.execute(db);
  for (const { id } of rows) {
    await holdCampaigns(db, id);
    while (!(await holdPage(db, id)));
  }
}

/** Holds the campaigns of before a restore, so that none of their chunks is claimed. */
async function holdCampaigns(db: Database, restoreId: string): Promise<void> {
  for (let last = '00000000-0000-0000-0000-000000000000'; ;) {
    const { rows } = await sql<{ id: string }>`
      with page as materialized (
        select campaign.id, status, campaign.created_at, held_at, restore.held_before
          from campaign, restore
          where restore.id = ${restoreId} and campaign.id > ${last}
          order by campaign.id limit ${pageSize}
      ), held as (
        update campaign set held_at = now(), updated_at = now() from page
          where campaign.id = page.id and page.status in ('SCHEDULED', 'SENDING', 'PAUSED')
            and page.held_at is null and page.created_at < page.held_before
      )
      select id from page order by id`.execute(db);
    last = rows.at(-1)?.id ?? last;
    if (rows.length < pageSize) return;
  }
}

/** Holds a page of messages outside of campaigns. Returns true if it was the last one. */
async function holdPage(db: Database, restoreId: string): Promise<boolean> {
  return transact(db, async (tx) => {
    const { rows } = await sql<{ last: string | null; count: number }>`
      with done as (
        select held_to, held_before from restore where id = ${restoreId} for update
      ), page as materialized (
        select email_id, campaign_id, held_before from email_queue, done where email_id > held_to
          order by email_id limit ${pageSize}
      ), waiting as (
        select email.id from page join email on email.id = page.email_id
          where page.campaign_id is null and email.status = 'PENDING'
            and email.hold_reason is distinct from 'operator'
            and (email.created_at < page.held_before or exists (select from execution
              where execution.id = email.workflow_execution_id
                and execution.started_at < page.held_before))
          order by email.id for update of email
      ), held as (
        update email set ${holdingForOperator} from waiting where email.id = waiting.id
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'held' }, ['queue'])}
      select max(email_id::text) as last, count(*)::int as count from page`.execute(tx);
    const [page] = rows;
    const isLast = (page?.count ?? 0) < pageSize;
    await sql`
      update restore set held_to = coalesce(${page?.last ?? null}::uuid, held_to), is_held = ${isLast}
        where id = ${restoreId}`.execute(tx);
    return isLast;
  });
}

/**
 * Takes the chunks of held campaigns apart, so that each message shows that it waits for the operator.
 * Messages that wait for the decision of an experiment stay in their chunks. Returns true if none is
 * left.
 */
export async function holdChunks(db: Database, isOver: () => boolean): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select id from campaign where held_at is not null order by project_id, id`.execute(db);
  for (const { id } of rows) {
    while (!isOver() && (await holdChunkPage(db, id, heldUntilDecided)) === chunksMax);
    if (isOver()) return false;
  }
  return true;
}

/** Takes all chunks of a held campaign apart, also those that wait for the decision of an experiment. */
export async function holdAllChunks(db: Database, campaignId: string): Promise<void> {
  while ((await holdChunkPage(db, campaignId, sql`'infinity'::timestamptz`)) === chunksMax);
}

async function holdChunkPage(
  db: Database,
  campaignId: string,
  before: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    with dropped as (
      delete from campaign_chunk where (campaign_id, number) in (
          select campaign_id, number from campaign_chunk
            where campaign_id = ${campaignId} and attempt_id is null and due_at < ${before}
            order by due_at, number limit ${chunksMax} for update skip locked)
          and exists (select from campaign where id = ${campaignId} and held_at is not null)
        returning email_ids
    ), held as (
      update email set ${holdingForOperator}
        where id in (select unnest(email_ids) from dropped) and status = 'PENDING'
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'held' }, ['queue'])}
    select count(*)::int as count from dropped`.execute(db);
  return rows[0]?.count ?? 0;
}
