import { sql } from 'kysely';
import { timeOfId } from '../../domain/ids.ts';
import type { Database } from '../database.ts';

/** Minimum milliseconds for which bodies are kept: a day, because the setting is in whole days. */
export const retentionMsMin = 86_400_000;
/** Number of messages, or attachments, that one statement handles. */
const pageSize = 5_000;

/**
 * Makes `deleteOldBodies` check these messages again. It has already passed their ids, but their
 * bodies are stored only now, after a long wait (their campaign was paused).
 */
export async function reopenRetention(tx: Database, emailIds: readonly string[]): Promise<void> {
  const isYoung = (id: string) => Date.now() - timeOfId(id) < retentionMsMin;
  if (emailIds.every(isYoung)) return;
  const ids = sql`${emailIds}::uuid[]`;
  await sql`
    update body_retention set scheduled_done_to = late.scheduled_for - interval '1 millisecond'
      from (select min(scheduled_for) as scheduled_for from email where id = any(${ids})) late
      where late.scheduled_for <= scheduled_done_to`.execute(tx);
  await sql`
    update body_retention set done_to = (
        -- The smallest id of this millisecond.
        select (left(id::text, 14) || '0000-0000-000000000000')::uuid
          from unnest(${ids}) as stored(id) order by id limit 1)
      where done_to >= any(${ids})`.execute(tx);
}

/**
 * Deletes the next page of bodies of messages whose creation or scheduled send time is before
 * `before`, and a page of the contents of attachments of this age. Unsent messages keep both.
 * Returns false when there is nothing left to check.
 */
export async function deleteOldBodies(db: Database, before: Date): Promise<boolean> {
  // The smallest id of this time: a UUIDv7 begins with the milliseconds.
  const bound = before.getTime().toString(16).padStart(12, '0').padEnd(32, '0');
  const { rows } = await sql<{ rows_read: number }>`
    with mark as (
      select done_to from body_retention for update
    ), page as (
      select email.id from email
        where email.id > (select done_to from mark) and email.id < ${bound}::uuid
        order by email.id limit ${pageSize}
    ), emptied as (
      update email set body = null, body_template = null, body_values = null
        from page
        where email.id = page.id and email.status not in ('PENDING', 'SENDING')
          and coalesce(email.scheduled_for <= email.created_at, true)
          and (email.body is not null or email.body_values is not null)
    ), moved as (
      update body_retention set done_to = (select id from page order by id desc limit 1)
        where exists (select from page)
    )
    select count(*)::int as rows_read from page`.execute(db);
  const { numAffectedRows: attachments } = await sql`
    delete from attachment where id in (
      select id from attachment
        where created_at < ${before} and coalesce(kept_from < ${before}, true) and not exists (
          select from email where email.project_id = attachment.project_id
            and email.attachments <> '[]' and email.status in ('PENDING', 'SENDING')
            and email.attachments
              @> jsonb_build_array(jsonb_build_object('attachmentId', attachment.id)))
        order by created_at limit ${pageSize})`.execute(db);
  const isMoreScheduled = await deleteScheduledBodies(db, before);
  return isMoreScheduled || rows[0]?.rows_read === pageSize || attachments === BigInt(pageSize);
}

/** Deletes bodies of scheduled mail, whose retention begins at the scheduled time. */
async function deleteScheduledBodies(db: Database, before: Date): Promise<boolean> {
  const { rows } = await sql<{ rows_read: number }>`
    with mark as (
      select scheduled_done_to, scheduled_done_id from body_retention for update
    ), page as (
      select email.id, scheduled_for from email
        where (scheduled_for, email.id)
            > ((select scheduled_done_to from mark), (select scheduled_done_id from mark))
          and scheduled_for < ${before}
        order by scheduled_for, email.id limit ${pageSize}
    ), emptied as (
      update email set body = null, body_template = null, body_values = null
        from page
        where email.id = page.id and email.status not in ('PENDING', 'SENDING')
          and email.scheduled_for > email.created_at
          and (email.body is not null or email.body_values is not null)
    ), moved as (
      update body_retention
        set scheduled_done_to = last.scheduled_for, scheduled_done_id = last.id
        from (select scheduled_for, id from page order by scheduled_for desc, id desc limit 1) last
    )
    select count(*)::int as rows_read from page`.execute(db);
  return rows[0]?.rows_read === pageSize;
}
