import { type RawBuilder, sql } from 'kysely';
import { unqueuedOf } from './mail-queue.ts';

/**
 * Campaign mail that is being given to the mail provider: its row still has the status PENDING, but
 * a claimed chunk of its campaign names it. It is shown as SENDING.
 */

/**
 * SQL that selects the ids of a project's campaign messages that are being given to the mail
 * provider, as a subquery.
 */
export function idsUnderWay(projectId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select unnest(inner_claimed.email_ids) from campaign_chunk inner_claimed
    where inner_claimed.project_id = ${projectId} and inner_claimed.attempt_id is not null)`;
}

/** SQL that is true if a message is in `idsUnderWay`. @param email the table or its alias. */
export function isClaimedByChunk(email: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`(${column('status')} = 'PENDING' and ${column('campaign_id')} is not null
    and ${column('id')} in ${idsUnderWay(column('project_id'))})`;
}

/**
 * SQL that selects the status that a message is shown with. @param email the table or its alias.
 */
export function statusOf(email: string): RawBuilder<string> {
  return sql<string>`case when ${isClaimedByChunk(email)} then 'SENDING'
    else ${sql.ref(`${email}.status`)} end`;
}

/**
 * SQL that is true if a campaign has waiting mail, in chunks or outside of them. It is fast,
 * because it does not search the campaign's messages.
 */
export function hasWaiting(campaignId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(exists (select from campaign_chunk inner_chunk
      where inner_chunk.campaign_id = ${campaignId})
    or exists (select from ${unqueuedOf(campaignId)}))`;
}

/**
 * SQL that selects the status of the campaign of a message that is PENDING or SENDING; null for
 * other messages.
 */
export function campaignStatusOf(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<string | null>`case when ${column('status')} in ('PENDING', 'SENDING') then
    (select inner_mailing.status from campaign inner_mailing
      where inner_mailing.id = ${column('campaign_id')}) end`;
}

/** SQL that is true if the attempt of a message has ended without an outcome. */
export function isUnsettled(email: string): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`case ${column('status')}
    when 'SENDING' then ${column('lease_until')} < now()
    when 'PENDING' then ${column('campaign_id')} is not null
      and ${column('id')} in (select unnest(inner_expired.email_ids) from campaign_chunk inner_expired
        where inner_expired.project_id = ${column('project_id')}
          and inner_expired.attempt_id is not null and inner_expired.lease_until < now())
    else false end`;
}
