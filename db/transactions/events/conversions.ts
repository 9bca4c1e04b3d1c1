import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { limits } from '../../../domain/limits.ts';

/** Number of events of which one statement reads the mail. */
const eventsAtOnce = 100;

/**
 * Records which message led to each of these events, in the transaction that has just recorded
 * them. The caller holds the contacts, so the events of a contact are decided one after the other.
 * @param eventIds events whose name is a goal in their project
 */
export async function recordConversions(tx: Database, eventIds: readonly string[]): Promise<void> {
  for (let from = 0; from < eventIds.length; from += eventsAtOnce) {
    await recordPage(tx, eventIds.slice(from, from + eventsAtOnce));
  }
}

async function recordPage(tx: Database, eventIds: readonly string[]): Promise<void> {
  await sql`
    with happened as materialized (
      select id, project_id, contact_id, name, data, created_at from event
        where id = ${anyOf(eventIds)} and contact_id is not null
    ), chosen as materialized (
      select happened.id, happened.project_id, happened.created_at,
          latest.email_id, latest.owner_id, latest.value
        from happened cross join lateral (${latestTouch}) latest
    ), recorded as (
      insert into conversion (event_id, project_id, owner_id, email_id, value, at)
        select id, project_id, owner_id, email_id, value, created_at from chosen
    ), converted as (
      update email set converted_at = earliest.at
        from (select email_id, min(created_at) as at from chosen group by 1) earliest
        where email.id = earliest.email_id and email.converted_at is null
        returning email.id
    )
    insert into goal_tally (owner_id, project_id, converted, conversions, value)
      select owner_id, project_id, count(distinct converted.id), count(*), sum(value)
        from chosen left join converted on converted.id = chosen.email_id
        group by 1, 2`.execute(tx);
}

/**
 * SQL that selects the message with the latest touch before a `happened` event, over all goals of
 * the project that have this event. A touch is the sending, an open or a click of a message: each
 * goal says which. If two touches have the same time, the younger message is selected. The search
 * starts from the contact's mail, because a project may have thousands of goals with the same
 * event.
 */
const latestTouch = sql`
  select mail.id as email_id, mail.owner_id,
      case when goal.value_field is null then 0 else coalesce(filter_number(filter_value(
        happened.data, string_to_array(goal.value_field, '.'))), 0) end as value
    from (select inner_mail.id, inner_mail.created_at, inner_mail.sent_at, inner_mail.opened_at,
          inner_mail.clicked_at, inner_mail.source_type, inner_mail.to_email,
          coalesce(inner_mail.campaign_id, (select inner_execution.workflow_id
            from execution inner_execution
            where inner_execution.id = inner_mail.workflow_execution_id)) as owner_id
        from email inner_mail where inner_mail.contact_id = happened.contact_id
        order by inner_mail.created_at desc, inner_mail.id desc limit ${limits.goalMails}) mail
    cross join lateral (select inner_goal.value_field, inner_goal.window_days, inner_goal.touch
        from goal inner_goal
        where inner_goal.project_id = happened.project_id
          and inner_goal.event_name = happened.name and inner_goal.owner_id = mail.owner_id
        offset 0) goal
    cross join lateral (select case when goal.touch = 'sent' then mail.sent_at
        when mail.opened_at is not null or mail.clicked_at is not null then (
          select max(inner_made.at) from engagement inner_made
            where inner_made.email_id = mail.id and inner_made.kind = goal.touch
              and inner_made.verdict is distinct from 'machine'
              and inner_made.at < happened.created_at) end as at) touch
    where touch.at < happened.created_at
      and touch.at >= happened.created_at - goal.window_days * interval '24 hours'
      -- A step may write to another address than that of the contact.
      and (mail.source_type = 'CAMPAIGN' or mail.to_email = (select inner_contact.email
        from contact inner_contact where inner_contact.id = happened.contact_id))
    order by touch.at desc, mail.created_at desc, mail.id desc limit 1`;
