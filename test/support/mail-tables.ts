/**
 * SQL of what `email_moment`, `email_queue`, `provider_message` and `late_mail` have too much or too little of,
 * by the rows of `email`: nothing. Also failed messages without an error, by which they are found: none.
 */
export const mailTableFaults = `
  with moment as (
    select project_id, kind::smallint, at, id as email_id
      from (select email.*,
          case when status <> 'FAILED' and source_type <> 'INBOUND' then sent_at end as sent from email) as mail
      cross join lateral (values (1, nullif(sent, delivered_at)), (2, nullif(delivered_at, sent)),
        (3, opened_at), (4, clicked_at), (5, bounced_at), (6, complained_at),
        (7, case when sent = delivered_at then sent end)) as own(kind, at)
      where at is not null
  ), queued as (
    select id as email_id, project_id, campaign_id, due_at, lease_until,
        case when status = 'PENDING' and hold_reason is not null then held_until end as held_until
      from email
      where status = 'SENDING' or status = 'PENDING' and due_at < '2100-01-01 00:00:00Z'
  ), given as (
    select message_id, id as email_id from email
      where source_type <> 'INBOUND' and left(message_id, 36) <> id::text
  ), late as (
    select contact_id, sent_at, id as email_id from email
      where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING'
        and source_type in ('CAMPAIGN', 'WORKFLOW')
  ), stored_moment as (
    select project_id, kind, at, email_id from email_moment
  ), stored_queue as (
    select email_id, project_id, campaign_id, due_at, lease_until, held_until from email_queue
  ), stored_given as (
    select message_id, email_id from provider_message
  ), stored_late as (
    select contact_id, sent_at, email_id from late_mail
  )
  ${[
    ['moment', 'stored_moment'],
    ['queued', 'stored_queue'],
    ['given', 'stored_given'],
    ['late', 'stored_late'],
  ]
    .flatMap(([meant, stored]) => [
      `select '${meant} misses ' || row.email_id || ': ' || row::text as what
         from (select * from ${meant} except all select * from ${stored}) as row`,
      `select '${meant} has too much: ' || row.email_id || ': ' || row::text
         from (select * from ${stored} except all select * from ${meant}) as row`,
    ])
    .join(' union all ')}
  union all
  select 'email ' || id || ' is FAILED without an error' from email
    where status = 'FAILED' and error is null`;
