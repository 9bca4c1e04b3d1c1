import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import type { FollowUp, FollowUpOutcome } from '../../domain/campaign/follow-up.ts';
import type { Database } from '../database.ts';
import { anyOf, isoTime } from '../expressions.ts';
import { mailEventAt } from '../sql/mail-status.ts';

/**
 * The lists of recipients of follow-ups. A request fills its list page by page, and then creates
 * the campaign in the transaction that completes the list. So no campaign has an incomplete list:
 * if the process dies before, the list expires.
 */

/** Number of messages that are checked in one transaction. */
const checkedPage = 5_000;

/**
 * Creates an empty list. `asOf`: ISO time as of which the outcomes of mail select the recipients.
 */
export async function insertFollowUpList(
  db: Database,
  projectId: string,
): Promise<{ id: string; asOf: string }> {
  return db
    .insertInto('follow_up_list')
    .values({ project_id: projectId, expires_at: sql<Date>`now() + interval '1 hour'` })
    .returning(['id', isoTime(sql`now()`).as('asOf')])
    .executeTakeFirstOrThrow();
}

/** Selects the recipients of a follow-up by their mail from the first campaign, page by page. */
export async function fillFollowUpList(
  db: Database,
  projectId: string,
  listId: string,
  followUp: FollowUp,
): Promise<void> {
  for (let after: Position | null = null; ;) {
    after = await fillPage(db, projectId, listId, followUp, after);
    if (after === null) return;
  }
}

/**
 * Checks one page. Returns the position of the last message that was checked; null: there are no
 * more.
 */
async function fillPage(
  db: Database,
  projectId: string,
  listId: string,
  followUp: FollowUp,
  after: Position | null,
): Promise<Position | null> {
  const isAfter = after ? sql`(created_at, id) < (${after.value}, ${after.id})` : sql`true`;
  const { rows } = await sql<{ count: number; at: Date | null; id: string | null }>`
    with page as materialized (
      select created_at, id, contact_id, ${isChosen(followUp)} as chosen from email
        where campaign_id = ${followUp.campaignId} and project_id = ${projectId} and ${isAfter}
        order by created_at desc, id desc limit ${checkedPage}
    ), listed as (
      insert into follow_up_recipient (list_id, contact_id, project_id)
        select ${listId}, contact_id, ${projectId} from page where chosen
        on conflict do nothing
    )
    select count(*)::int as count, (array_agg(created_at order by created_at, id))[1] as at,
        (array_agg(id order by created_at, id))[1] as id
      from page`.execute(db);
  const [last] = rows;
  if (!last?.at || !last.id || last.count < checkedPage) return null;
  return { value: last.at.toISOString(), id: last.id };
}

/** SQL that is true if the recipient of a row of `email` gets the follow-up. */
function isChosen({ outcome, asOf, ignoreMachines }: FollowUp): RawBuilder<boolean> {
  const happened = (column: string) => sql`coalesce(${sql.ref(column)} <= ${asOf}, false)`;
  // An open or click that is not judged yet may be a person's.
  const byMachines = (kind: 'open' | 'click', column: string) =>
    ignoreMachines
      ? sql`(${sql.ref(column)} and not exists (select from engagement inner_pending
          where inner_pending.email_id = email.id and inner_pending.kind = ${kind}
            and inner_pending.verdict is null))`
      : sql`false`;
  const wasOpened = sql`(${happened('opened_at')} and not ${byMachines('open', 'opened_by_machines')})`;
  const wasClicked = sql`(${happened('clicked_at')} and not ${byMachines('click', 'clicked_by_machines')})`;
  const wasReached = sql`${happened('sent_at')} and status <> 'FAILED'
    and not ${happened('bounced_at')} and not ${happened('complained_at')}`;
  const conditions: Record<FollowUpOutcome, RawBuilder<unknown>> = {
    not_opened: sql`${wasReached} and not ${wasOpened} and not ${wasClicked}`,
    not_clicked: sql`${wasReached} and not ${wasClicked}`,
    failed: sql`${mailEventAt('email', 'failed')} is not null`,
    not_sent: sql`(${mailEventAt('email', 'failed')} is not null
      or ${mailEventAt('email', 'withheld')} is not null and error <> 'held_out')`,
  };
  return sql<boolean>`(${conditions[outcome]})`;
}

/** Marks a filled list as complete, in the transaction that creates its campaign. */
export async function completeFollowUpList(tx: Database, listId: string): Promise<void> {
  await tx
    .updateTable('follow_up_list')
    .set({ expires_at: null })
    .where('id', '=', listId)
    .execute();
}

/**
 * Locks the lists of campaigns that are being deleted, so that no copy of these campaigns can begin
 * to share them.
 */
export async function lockFollowUpLists(
  tx: Database,
  campaignIds: readonly string[],
): Promise<string[]> {
  const rows = await tx
    .selectFrom('follow_up_list')
    .select('id')
    .where('id', 'in', (select) =>
      select
        .selectFrom('campaign')
        .select(sql<string>`follow_up_list`.as('id'))
        .where('id', '=', anyOf(campaignIds)),
    )
    .orderBy('id')
    .forUpdate()
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes those of the lists that no campaign uses. The sweep deletes their recipients. */
export async function deleteUnusedLists(tx: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`
    delete from follow_up_list where id = ${anyOf(ids)}
      and not exists (select from campaign where follow_up_list = follow_up_list.id)`.execute(tx);
}
