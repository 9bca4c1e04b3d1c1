import { type RawBuilder, sql } from 'kysely';
import { linkOfEvent, type MailEvent } from '../../domain/filter/filter.ts';
import { type ReasonCode, refusals, withheldReasons } from '../../domain/outcomes/outcome.ts';
import { unqueuedOf } from './mail-queue.ts';
import { traceEntry } from './mail-trace.ts';

/**
 * The status and the outcome with which messages are shown. Campaign mail that is being given to
 * the mail provider still has the status PENDING in its row, but a claimed chunk of its campaign
 * lists the message. Such mail is shown as SENDING.
 */

/**
 * SQL that selects the ids of a project's campaign messages that are being given to the mail
 * provider, as a subquery.
 */
export function idsUnderWay(projectId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select unnest(inner_claimed.email_ids) from campaign_chunk inner_claimed
    where inner_claimed.project_id = ${projectId} and inner_claimed.attempt_id is not null)`;
}

/**
 * SQL that is true if a message is in `idsUnderWay`.
 * @param email the table or its alias.
 * @param projectId the project of the message. If it is a constant, PostgreSQL reads the chunks of
 * the project once for all messages; by default, once for each message.
 */
export function isClaimedByChunk(
  email: string,
  projectId: RawBuilder<unknown> = sql.ref(`${email}.project_id`),
): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`(${column('status')} = 'PENDING' and ${column('campaign_id')} is not null
    and ${column('id')} in ${idsUnderWay(projectId)})`;
}

/**
 * SQL that selects the status that a message is shown with.
 * @param email the table or its alias.
 */
export function statusOf(email: string): RawBuilder<string> {
  return sql<string>`case when ${isClaimedByChunk(email)} then 'SENDING'
    else ${sql.ref(`${email}.status`)} end`;
}

/**
 * SQL that is true if a campaign has waiting mail, in chunks or outside of them. The check is fast,
 * because it does not search the campaign's messages.
 */
export function hasWaiting(campaignId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(exists (select from campaign_chunk inner_chunk
      where inner_chunk.campaign_id = ${campaignId})
    or exists (select from ${unqueuedOf(campaignId)}))`;
}

/**
 * SQL that selects the status of the campaign of a message that is PENDING or SENDING; null for
 * other messages. The status is UNDECIDED instead of SENDING while the message waits for the
 * decision of an experiment.
 */
export function campaignStatusOf(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<string | null>`case when ${column('status')} in ('PENDING', 'SENDING') then
    (select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null
          and ${column('arm')} is null and exists (select from experiment inner_undecided
            where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
      from campaign inner_mailing where inner_mailing.id = ${column('campaign_id')}) end`;
}

/**
 * SQL that is true if the attempt of a message has ended without an outcome. See
 * `isClaimedByChunk`.
 */
export function isUnsettled(
  email: string,
  projectId: RawBuilder<unknown> = sql.ref(`${email}.project_id`),
): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`case ${column('status')}
    when 'SENDING' then ${column('lease_until')} < now()
    when 'PENDING' then ${column('campaign_id')} is not null
      and ${column('id')} in (select unnest(inner_expired.email_ids) from campaign_chunk inner_expired
        where inner_expired.project_id = ${projectId}
          and inner_expired.attempt_id is not null and inner_expired.lease_until < now())
    else false end`;
}

const failureCodes = [...refusals, ...withheldReasons, 'delivery_unknown'];

/**
 * SQL that selects the reason code of a message, by the rules of `outcomeOf`; null: it was sent.
 * @param email the table or its alias.
 * @param projectId the project of all these messages, as a constant: see `isClaimedByChunk`.
 */
export function reasonOf(
  email: string,
  projectId: RawBuilder<unknown>,
): RawBuilder<ReasonCode | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const code = sql`coalesce(${column('refusal')}, ${column('error')})`;
  const known = sql.join(failureCodes.map((one) => sql.lit(one)));
  return sql<ReasonCode | null>`case
    when ${column('status')} = 'FAILED'
      then case when ${code} in (${known}) then ${code} else 'provider_refused' end
    when ${column('status')} not in ('PENDING', 'SENDING') then null
    when ${isUnsettled(email, projectId)} then 'delivery_unsettled'
    when ${campaignStatusOf(email)} = 'PAUSED' then 'campaign_paused'
    when ${campaignStatusOf(email)} = 'UNDECIDED' then 'experiment'
    when ${column('status')} = 'SENDING' or ${isClaimedByChunk(email, projectId)} then 'queued'
    else coalesce(${holdReasonOf(email)}, 'queued') end`;
}

/**
 * SQL that selects the reason of the hold of a waiting message, as `holdOf` does; null: no hold.
 */
function holdReasonOf(email: string): RawBuilder<string | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const policy = sql`coalesce(${column('hold_reason')}, 'quiet_hours')`;
  return sql<string | null>`(select reason from (values
      ('schedule', ${column('scheduled_for')}, 1), ('retry', ${column('retry_at')}, 2),
      (${policy}, ${column('held_until')}, 3)) as hold(reason, until, place)
    where until > now() order by until desc, place limit 1)`;
}

/**
 * SQL that is true if a message has failed for this reason. For a campaign's messages, the index
 * `email_campaign_failed` finds them, in the order of a list.
 * @param email the table or its alias.
 */
export function hasFailedBy(email: string, code: ReasonCode): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<boolean>`(${column('status')} = 'FAILED' and ${column('error')} is not null
    and left(coalesce(${column('refusal')}, ${column('error')}), 40) = ${code})`;
}

/**
 * SQL assignments that fail a waiting message because its campaign was cancelled, maybe because the
 * project was disabled.
 * @param email the table or its alias, which is updated.
 */
export function suppressed(email: string): RawBuilder<unknown> {
  const reason = endedBy(email);
  return sql`status = 'FAILED', error = ${reason}, updated_at = now(),
    trace = ${sql.ref(`${email}.trace`)}
      || ${traceEntry('withheld', sql`jsonb_build_object('reason', ${reason})`)}`;
}

/**
 * SQL that selects the reason why a campaign has ended, as `email.error` stores it.
 * @param email the table or its alias.
 */
export function endedBy(email: string): RawBuilder<string> {
  return sql<string>`case when exists (select from project inner_disabled
      where inner_disabled.id = ${sql.ref(`${email}.project_id`)}
        and inner_disabled.disabled_reason is not null)
    then 'project_disabled' else 'campaign_cancelled' end`;
}

/**
 * SQL that selects when an event happened to a message; null: it never happened, or the message
 * failed and was retried.
 * @param email the table or its alias.
 * @param ownerId the campaign or template whose link an event names
 */
export function mailEventAt(
  email: string,
  event: MailEvent,
  ownerId: string | null = null,
): RawBuilder<Date | null> {
  if (event === 'failed' || event === 'withheld') return failedAt(email, event);
  const linkId = linkOfEvent(event);
  if (linkId === null) return sql<Date | null>`${sql.ref(`${email}.${mailEventColumn(event)}`)}`;
  const column = (name: string) => sql.ref(`${email}.${name}`);
  return sql<Date | null>`(select inner_clicked.first_at from email_link inner_clicked
    where inner_clicked.owner_id = ${ownerId}::uuid and inner_clicked.link_id = ${linkId}
      and inner_clicked.email_created_at = ${column('created_at')}
      and inner_clicked.email_id = ${column('id')})`;
}

/** Returns the column that has the first time of an event: `human_opened_at` of `humanOpened`. */
export function mailEventColumn(event: string): string {
  return `${event.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_at`;
}

function failedAt(email: string, outcome: 'failed' | 'withheld'): RawBuilder<Date | null> {
  const column = (name: string) => sql.ref(`${email}.${name}`);
  const listed = (codes: readonly string[]) => sql.join(codes.map((code) => sql.lit(code)));
  const code = sql`coalesce(${column('refusal')}, ${column('error')}, '')`;
  const isOutcome =
    outcome === 'withheld'
      ? sql`${code} in (${listed(withheldReasons)})`
      : sql`${code} not in (${listed([...withheldReasons, 'delivery_unknown'])})`;
  // The last attempt is the one that failed. Erased mail has no trace.
  const ends = sql.lit('$[*] ? (@.state == "refused" || @.state == "withheld").at');
  return sql<Date | null>`case when ${column('status')} = 'FAILED' and ${isOutcome} then coalesce(
    (jsonb_path_query_array(${column('trace')}, ${ends}) ->> -1)::timestamptz,
    ${column('updated_at')}) end`;
}
