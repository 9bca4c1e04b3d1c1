insert into event (project_id, contact_id, email_id, name, data)
select project_id, contact_id, email_id, name, nullif(data, 'null')
from jsonb_to_recordset($1::jsonb) as given(project_id uuid, contact_id uuid, email_id uuid, name
    text, data jsonb)
returning id, project_id as "projectId", contact_id as "contactId", name, created_at as "createdAt",
    (
  select case when count(*) > 0 then count(coalesce(conditions, digest))::int end
  from wait
  where wait.contact_id = event.contact_id and wait.event_name = event.name and wait.event_id is
      null and (wait.required_data is null or event.data @> wait.required_data)) as "chosenWaits", (
  select bool_or((workflow.trigger_where is not null or workflow.execution_key is not null or
      workflow.reentry_mode = 'parallel' or workflow.reentry_min_interval is not null))
  from workflow
  where workflow.project_id = event.project_id and workflow.trigger_event_name = event.name and
      workflow.enabled and workflow.trigger_type = 'EVENT') as "choosesStarts", case when (
  select (inner_next.project_id, inner_next.event_name) = (event.project_id, event.name)
  from exit_event inner_next
  where (inner_next.project_id, inner_next.event_name) >= (event.project_id, event.name)
  order by inner_next.project_id, inner_next.event_name
  limit 1) then coalesce((
    select true
    from execution
    where (execution.contact_id = event.contact_id and execution.status in ('RUNNING', 'WAITING')
        and (
        select true
        from exit_event inner_exit
        where inner_exit.project_id = event.project_id and inner_exit.event_name = event.name and
            inner_exit.workflow_id = execution.workflow_id))
    limit 1), false) end as "mayExit", (
  select (inner_next.project_id, inner_next.event_name) = (event.project_id, event.name)
  from goal inner_next
  where (inner_next.project_id, inner_next.event_name) >= (event.project_id, event.name)
  order by inner_next.project_id, inner_next.event_name
  limit 1) as "isGoal", (
  select array_agg(id)
  from event_subscription subscription
  where subscription.project_id = event.project_id and enabled and exists (
    select
    from unnest(subscription.events) as inner_item
    where inner_item in ('*', event.name) or right(inner_item, 2) = '.*' and starts_with(event.name,
        left(inner_item, -1)))) as "subscriptionIds"

select ((
    select count(*)
    from (
      with recursive names as ( (
          select name
          from event inner_first
          where contact_id = $1
          order by name
          limit 1)
        union all
        select (
          select inner_later.name
          from event inner_later
          where inner_later.contact_id = $2 and inner_later.name > names.name
          order by inner_later.name
          limit 1)
        from names
        where names.name is not null )
      select name, case when name ~ '^contact\.((un)?subscribed|topic\..+)$' then 'consent' when
          name ~ '^segment\..+\.(entry|exit)$' then 'segment' when name ~ '^email\.' then 'mail'
          else 'event' end as type
      from names
      where name is not null and (case when name ~ '^contact\.((un)?subscribed|topic\..+)$' then
          'consent' when name ~ '^segment\..+\.(entry|exit)$' then 'segment' when name ~ '^email\.'
          then 'mail' else 'event' end) = any($3::text[])) as named
    join event on event.contact_id = $4 and event.name = named.name and event.project_id = $5) + (
    select count(*)
    from email
    where contact_id = $6 and project_id = $7 and (case when status = 'FAILED' and source_type in
        ('CAMPAIGN', 'WORKFLOW') and error is distinct from 'delivery_unknown' then 'not_reached'
        else 'email' end) = any($8::text[])) + (
    select count(*)
    from opt_in
    where contact_id = $9 and project_id = $10) + (
    select count(*)
    from not_started
    where contact_id = $11 and project_id = $12 and exists (
      select
      from workflow inner_kept
      where inner_kept.id = not_started.workflow_id)) + (
    select count(*)
    from execution
    where contact_id = $13 and project_id = $14 and exists (
      select
      from workflow inner_kept
      where inner_kept.id = execution.workflow_id)))::int as total

select id
from event_subscription
where clear_at <= now()
order by clear_at
limit $1

select id, name, created_at as "createdAt", data as data, to_char(recorded_at at time zone 'utc',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
from event
where id = $1

select id, name, data, created_at as "createdAt", to_char(recorded_at at time zone 'utc',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "recordedAt"
from (
  select id, name, data, created_at, recorded_at
  from event
  where name = $1 and contact_id = $2 and recorded_at < $3 and recorded_at > $4::timestamptz ) as
      found
where not id = any($5::uuid[]) and not false and true
order by recorded_at, id
limit $6

select id, project_id, contact_id, event_name, at
from event_delivery_loss
order by id
limit 1
for update skip locked

select listed.contact_id, listed.created_at, listed.data, listed.email_id, listed.id, listed.name,
    listed.project_id, listed.recorded_at, listed.tx, contact.email as contact_email
from (
  select event.contact_id, event.created_at, event.data, event.email_id, event.id, event.name,
      event.project_id, event.recorded_at, event.tx
  from event
  where id = any($1::uuid[])
  union all
  select mail.contact_id, mail.created_at, mail.data, mail.email_id, mail.id, mail.name,
      mail.project_id, mail.recorded_at, mail.tx
  from (
    select overlay(id::text placing '6'
      from 15 for 1)::uuid as id, project_id, contact_id, 'email.sent' as name,
          jsonb_build_object('subject', subject, 'from', from_email, 'fromName', from_name,
          'messageId', message_id, 'emailId', id, 'templateId', template_id, 'campaignId',
          campaign_id, 'sourceType', source_type, 'sentAt', to_char(sent_at at time zone 'utc',
          'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as data, sent_at as created_at, sent_at as recorded_at,
          id as email_id, null::xid8 as tx
    from email
    where sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND' and derived_events
        & 1 <> 0 and email.id = any($2::uuid[])) as mail
  union all
  select mail.contact_id, mail.created_at, mail.data, mail.email_id, mail.id, mail.name,
      mail.project_id, mail.recorded_at, mail.tx
  from (
    select overlay(id::text placing '8'
      from 15 for 1)::uuid as id, project_id, contact_id, 'email.delivery' as name,
          jsonb_build_object('subject', subject, 'from', from_email, 'fromName', from_name,
          'messageId', message_id, 'emailId', id, 'templateId', template_id, 'campaignId',
          campaign_id, 'sourceType', source_type, 'deliveredAt', to_char(delivered_at at time zone
          'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as data, delivered_at as created_at, delivered_at
          as recorded_at, id as email_id, null::xid8 as tx
    from email
    where delivered_at is not null and derived_events & 2 <> 0 and email.id = any($3::uuid[])) as
        mail) as listed
left join contact on contact.id = listed.contact_id
order by array_position($4::uuid[], listed.id)

select name
from event_tally
where project_id = $1
group by name having sum(count) > 0
order by sum(count) desc, name collate "C"

select name, sum(count)::float8 as count
from (
  select name, sum(count)::bigint as count
  from event_tally
  where project_id = $1 and day >= ($2::timestamptz at time zone 'UTC')::date
  group by name
  union all
  select name, (
    select count(*)
    from event
    where event.project_id = $3 and event.name = named.name and created_at >= $4 and created_at <
        $5)
  from (
    select distinct name
    from event_tally
    where project_id = $6 and day = ($7::timestamptz at time zone 'UTC')::date) named
  union all
  select 'email.sent', count(*)
  from (
    select inner_moment.at, inner_moment.email_id
    from email_moment inner_moment
    where inner_moment.project_id = $8 and inner_moment.kind = 1 and at >= $9 and at < $10) moment
  join email on email.id = email_id
  where sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND' and derived_events &
      1 <> 0
  union all
  select 'email.delivery', count(*)
  from (
    select inner_moment.at, inner_moment.email_id
    from email_moment inner_moment
    where inner_moment.project_id = $11 and inner_moment.kind = 2 and at >= $12 and at < $13) moment
  join email on email.id = email_id
  where delivered_at is not null and derived_events & 2 <> 0) part
group by name having sum(count) > 0
order by sum(count) desc, name collate "C"

update event_subscription
set next_reconcile_at = now()
where id = any (array(
    select inner_recorded.id
    from event_subscription inner_recorded
    where inner_recorded.project_id in (
      select project_id
      from event_tally
      where fresh)
    for no key update skip locked))

with page as (
  select kind, type, id, at
  from ((
      select 'event' as kind, named.type, found.id, found.at
      from (
        with recursive names as ( (
            select name
            from event inner_first
            where contact_id = $1
            order by name
            limit 1)
          union all
          select (
            select inner_later.name
            from event inner_later
            where inner_later.contact_id = $2 and inner_later.name > names.name
            order by inner_later.name
            limit 1)
          from names
          where names.name is not null )
        select name, case when name ~ '^contact\.((un)?subscribed|topic\..+)$' then 'consent' when
            name ~ '^segment\..+\.(entry|exit)$' then 'segment' when name ~ '^email\.' then 'mail'
            else 'event' end as type
        from names
        where name is not null and (case when name ~ '^contact\.((un)?subscribed|topic\..+)$' then
            'consent' when name ~ '^segment\..+\.(entry|exit)$' then 'segment' when name ~
            '^email\.' then 'mail' else 'event' end) = any($3::text[])) as named
      cross join lateral (
        select id, recorded_at as at
        from event inner_item_of
        where contact_id = $4 and project_id = $5 and inner_item_of.name = named.name and true
        order by recorded_at desc, id desc
        limit $6) found)
    union all (
      select 'email' as kind, case when status = 'FAILED' and source_type in ('CAMPAIGN',
          'WORKFLOW') and error is distinct from 'delivery_unknown' then 'not_reached' else 'email'
          end as type, id, created_at as at
      from email
      where contact_id = $7 and project_id = $8 and (case when status = 'FAILED' and source_type in
          ('CAMPAIGN', 'WORKFLOW') and error is distinct from 'delivery_unknown' then 'not_reached'
          else 'email' end) = any($9::text[]) and true
      order by created_at desc, id desc
      limit $10)
    union all (
      select 'opt_in' as kind, 'consent' as type, id, created_at as at
      from opt_in
      where contact_id = $11 and project_id = $12 and true
      order by created_at desc, id desc
      limit $13)
    union all (
      select 'not_started' as kind, 'not_started' as type, id, at as at
      from not_started
      where contact_id = $14 and project_id = $15 and exists (
        select
        from workflow inner_kept
        where inner_kept.id = not_started.workflow_id) and true
      order by at desc, id desc
      limit $16)
    union all (
      select 'execution' as kind, 'execution' as type, id, started_at as at
      from execution
      where contact_id = $17 and project_id = $18 and exists (
        select
        from workflow inner_kept
        where inner_kept.id = execution.workflow_id) and true
      order by started_at desc, id desc
      limit $19)) part
  order by at desc, id desc
  limit $20 )
select page.kind, page.type, page.id, to_char(page.at at time zone 'utc',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, event.name, event.data, event.email_id, case when
    page.kind = 'email' then jsonb_build_object('subject', email.subject, 'status', case when
    (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
      select unnest(inner_claimed.email_ids)
      from campaign_chunk inner_claimed
      where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
          then 'SENDING' else email.status end, 'sourceType', email.source_type, 'from',
          email.from_email, 'error', email.error, 'sentAt', to_char(email.sent_at at time zone
          'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'deliveredAt', to_char(email.delivered_at at time
          zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'openedAt', to_char(email.opened_at at time
          zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'clickedAt', to_char(email.clicked_at at
          time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'bouncedAt', to_char(email.bounced_at
          at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'judged',
          jsonb_build_object('scheduled_for', to_char(email.scheduled_for at time zone 'utc',
          'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'retry_at', to_char(email.retry_at at time zone 'utc',
          'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'hold_reason', email.hold_reason, 'held_until',
          to_char(case when email.hold_reason = 'warm_up' then coalesce((
          select inner_holding_ramp.day_ends_at
          from ramp inner_holding_ramp
          where inner_holding_ramp.id = email.ramp_id), email.held_until) else email.held_until end
              at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'refusal', email.refusal,
              'campaign_status', case when email.status in ('PENDING', 'SENDING') then (
      select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
          email.arm is null and exists (
        select
        from experiment inner_undecided
        where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
            then 'UNDECIDED' else inner_mailing.status end
      from campaign inner_mailing
      where inner_mailing.id = email.campaign_id) end, 'is_unsettled', case email.status when
          'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null
          and email.id in (
      select unnest(inner_expired.email_ids)
      from campaign_chunk inner_expired
      where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
          inner_expired.lease_until < now()) else false end), 'campaignId', email.campaign_id,
          'executionId', email.workflow_execution_id, 'workflowId', execution.workflow_id) end as
          mail, case when page.kind = 'execution' then jsonb_build_object( 'workflowId',
          execution.workflow_id, 'workflowName', execution.workflow_name, 'key', execution.key,
          'version', execution.workflow_version, 'status', execution.status, 'exitReason',
          execution.exit_reason, 'error', execution.error, 'completedAt',
          to_char(execution.completed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
          'waiting', (
    select step.output
    from step_execution step
    where step.status = 'WAITING' and step.execution_id = execution.id and step.step_id =
        execution.current_step_id) ) end as execution, case when page.kind = 'opt_in' then
        jsonb_build_object('state', opt_in.state, 'topics', array(
    select key from topic
    where topic.id = any(opt_in.topic_ids)
    order by topic.created_at, topic.id), 'endedAt', to_char(opt_in.ended_at at time zone 'utc',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as "optIn", case when page.kind = 'not_started' then
        jsonb_build_object('workflowId', workflow.id, 'workflowName', workflow.name, 'reason',
        not_started.reason, 'eventName', not_started.event_name) end as "notStarted"
from page
left join event on page.kind = 'event' and event.id = page.id
left join email on page.kind = 'email' and email.id = page.id
left join not_started on page.kind = 'not_started' and not_started.id = page.id
left join workflow on workflow.id = not_started.workflow_id
left join opt_in on page.kind = 'opt_in' and opt_in.id = page.id
left join execution on execution.id = case page.kind when 'execution' then page.id else
    email.workflow_execution_id end
order by page.at desc, page.id desc

with page as (
  select type, kind, id, at, item_id
  from ( (
      select 'event.triggered' as type, 'event' as kind, id, created_at as at, '' || id || '' as
          item_id
      from event
      where project_id = $1 and name !~
          '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$' and name not in
          ('contact.topic.subscribed', 'contact.topic.unsubscribed')
      order by created_at desc, id desc
      limit $2)
    union all (
      select 'contact.subscribed' as type, 'event' as kind, id, created_at as at, '' || id || '' as
          item_id
      from event
      where project_id = $3 and name = 'contact.subscribed'
      order by created_at desc, id desc
      limit $4)
    union all (
      select 'contact.unsubscribed' as type, 'event' as kind, id, created_at as at, '' || id || ''
          as item_id
      from event
      where project_id = $5 and name = 'contact.unsubscribed'
      order by created_at desc, id desc
      limit $6)
    union all (
      select 'email.sent' as type, 'email' as kind, id, sent_at as at, '' || id || '_sent' as
          item_id
      from (
        select email_id as id, at as sent_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $7 and inner_moment.kind = 1 and true) moment) mine
      where true
      order by sent_at desc, id desc
      limit $8)
    union all (
      select 'email.delivered' as type, 'email' as kind, id, delivered_at as at, '' || id ||
          '_delivered' as item_id
      from (
        select email_id as id, at as delivered_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $9 and inner_moment.kind = 2 and true) moment) mine
      where true
      order by delivered_at desc, id desc
      limit $10)
    union all (
      select 'email.opened' as type, 'email' as kind, id, opened_at as at, '' || id || '_opened' as
          item_id
      from (
        select email_id as id, at as opened_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $11 and inner_moment.kind = 3 and true) moment) mine
      where true
      order by opened_at desc, id desc
      limit $12)
    union all (
      select 'email.clicked' as type, 'email' as kind, id, clicked_at as at, '' || id || '_clicked'
          as item_id
      from (
        select email_id as id, at as clicked_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $13 and inner_moment.kind = 4 and true) moment) mine
      where true
      order by clicked_at desc, id desc
      limit $14)
    union all (
      select 'email.bounced' as type, 'email' as kind, id, bounced_at as at, '' || id || '_bounced'
          as item_id
      from (
        select email_id as id, at as bounced_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $15 and inner_moment.kind = 5 and true) moment) mine
      where true
      order by bounced_at desc, id desc
      limit $16)
    union all (
      select 'email.complaint' as type, 'email' as kind, id, complained_at as at, '' || id ||
          '_complaint' as item_id
      from (
        select email_id as id, at as complained_at
        from (
          select inner_moment.at, inner_moment.email_id
          from email_moment inner_moment
          where inner_moment.project_id = $17 and inner_moment.kind = 6 and true) moment) mine
      where true
      order by complained_at desc, id desc
      limit $18)
    union all (
      select 'email.received' as type, 'email' as kind, id, created_at as at, '' || id ||
          '_received' as item_id
      from email
      where project_id = $19 and source_type = 'INBOUND'
      order by created_at desc, id desc
      limit $20)
    union all (
      select 'campaign.sent' as type, 'campaign' as kind, id, sent_at as at, 'campaign_' || id ||
          '_sent' as item_id
      from campaign
      where project_id = $21 and sent_at is not null
      order by sent_at desc, id desc
      limit $22)
    union all (
      select 'workflow.started' as type, 'execution' as kind, id, (date_trunc('milliseconds',
          started_at at time zone 'UTC') at time zone 'UTC') as at, '' || id || '_started' as
          item_id
      from execution
      where project_id = $23 and exists (
        select
        from workflow inner_workflow
        where inner_workflow.id = workflow_id)
      order by date_trunc('milliseconds', started_at at time zone 'UTC') desc, id desc
      limit $24)
    union all (
      select 'workflow.completed' as type, 'execution' as kind, id, completed_at as at, '' || id ||
          '_completed' as item_id
      from execution
      where project_id = $25 and completed_at is not null and exists (
        select
        from workflow inner_workflow
        where inner_workflow.id = workflow_id)
      order by completed_at desc, id desc
      limit $26)) part
  order by at desc, item_id collate "C" desc
  limit $27 )
select page.type, page.item_id, to_char(page.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    as at, contact.id as contact_id, contact.email as contact_email, event.name as event_name,
    event.data as event_data, email.subject, email.from_email, email.from_name, email.reply_to,
    email.to_name, email.source_type, email.opens, email.clicks, email.error, email.id as email_id,
    coalesce(octet_length(email.body), octet_length(email.body_values::text) +
    octet_length(body_template.body::text), 0) as body_bytes, campaign.name as campaign_name,
    campaign.subject as campaign_subject, campaign.total_recipients, campaign.audience_type,
    segment.name as segment_name, execution.workflow_name, execution.key, execution.status,
    execution.exit_reason
from page
left join event on page.kind = 'event' and event.id = page.id
left join email on page.kind = 'email' and email.id = page.id
left join campaign on campaign.id = case page.kind when 'campaign' then page.id else
    email.campaign_id end
left join body_template on body_template.campaign_id = email.campaign_id and body_template.hash =
    email.body_template
left join segment on segment.id = campaign.segment_id
left join execution on execution.id = case page.kind when 'execution' then page.id else
    email.workflow_execution_id end and (
  select true
  from workflow
  where workflow.id = execution.workflow_id)
left join contact on contact.id = case page.kind when 'event' then event.contact_id when 'email'
    then email.contact_id when 'execution' then execution.contact_id end
order by page.at desc, page.item_id collate "C" desc

with page as materialized (
  select subscription.id, project_id, subscription.next_reconcile_at, disabled_reason_of_project,
      ((subscription.enabled or subscription.earlier <> '[]') and (subscription.reading is not null
      or subscription.earlier <> '[]' or coalesce((
          select true
          from event inner_unread
          where inner_unread.project_id = subscription.project_id and inner_unread.tx = any (array(
              select pg_snapshot_xip(subscription.seen)))
          order by inner_unread.tx
          limit 1), (
          select true
          from event inner_unread
          where inner_unread.project_id = subscription.project_id and inner_unread.tx >=
              pg_snapshot_xmax(subscription.seen)
          order by inner_unread.tx
          limit 1), (
          select true
          from derived_event_log inner_log
          where inner_log.project_id = subscription.project_id and inner_log.tx = any (array(
              select pg_snapshot_xip(subscription.seen)))
          order by inner_log.tx
          limit 1), (
          select true
          from derived_event_log inner_log
          where inner_log.project_id = subscription.project_id and inner_log.tx >=
              pg_snapshot_xmax(subscription.seen)
          order by inner_log.tx
          limit 1), false))) or backlog is not null or has_outdated or suspended or
              coalesce(hold_until < now(), true) and coalesce(probe_at < now() - interval '10
              seconds', true) and enabled and not paused and exists (
    select
    from event_delivery
    where subscription_id = subscription.id and status = 'pending' and is_retry = any (array[true,
        false]) and due_at < now() - interval '10 seconds') as has_work, enabled and not paused and
        exists (
    select
    from event_delivery
    where subscription_id = subscription.id and status = 'pending' and is_retry = any (array[true,
        false]) ) as is_waiting
  from (
    select due.backlog, due.batch_max, due.batch_turn, due.clear_at, due.covered_from,
        due.created_at, due.created_by, due.description, due.disabled_reason, due.earlier,
        due.enabled, due.epoch, due.events, due.failing_since, due.failures, due.file_key,
        due.has_outdated, due.header_names, due.headers, due.hold_until, due.id, due.lease,
        due.next_reconcile_at, due.paused, due.previous_secret, due.previous_secret_expires_at,
        due.probe_at, due.probes, due.project_id, due.read_earlier, due.read_id, due.read_tx,
        due.reading, due.released_at, due.secret, due.secret_names, due.seen, due.suspended,
        due.updated_at, due.url, project.disabled_reason as disabled_reason_of_project
    from event_subscription due
    join project on project.id = due.project_id
    where (due.next_reconcile_at <= now() or suspended) and true
    order by due.id
    limit $1) subscription ), idle as (
  update event_subscription
  set next_reconcile_at = now() + interval '1 hour'
  where id = any (array(
      select inner_idle.id
      from event_subscription inner_idle
      join page on page.id = inner_idle.id and not has_work and not is_waiting
      where inner_idle.next_reconcile_at = page.next_reconcile_at
      for no key update of inner_idle skip locked)) )
select id, project_id as "projectId", has_work and disabled_reason_of_project is null as "isDue"
from page
order by id

with stored as materialized (
  select id, coalesce(octet_length(data::text), 0)::int as bytes, created_at, recorded_at
  from event
  where project_id = $1 and true
  order by created_at desc, recorded_at desc, id desc
  limit $2 ), last as (
  select coalesce((
      select created_at
      from stored
      order by created_at desc offset $3
      limit 1), '-infinity') as at )
select id, bytes
from (
  select id, bytes, created_at, recorded_at
  from stored
  union all (
    select id, coalesce(octet_length(data::text), 0)::int as bytes, created_at, recorded_at
    from (
      select overlay(id::text placing '6'
        from 15 for 1)::uuid as id, project_id, contact_id, 'email.sent' as name,
            jsonb_build_object('subject', subject, 'from', from_email, 'fromName', from_name,
            'messageId', message_id, 'emailId', id, 'templateId', template_id, 'campaignId',
            campaign_id, 'sourceType', source_type, 'sentAt', to_char(sent_at at time zone 'utc',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as data, sent_at as created_at, sent_at as
            recorded_at, id as email_id, null::xid8 as tx
      from (
        select inner_moment.at, inner_moment.email_id
        from email_moment inner_moment
        where inner_moment.project_id = $4 and inner_moment.kind = 1 and at >= (
          select at
          from last)) moment
      join email on email.id = email_id
      where sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND' and
          derived_events & 1 <> 0 and true
      order by moment.at desc, email_id desc
      limit $5) as mail)
  union all (
    select id, coalesce(octet_length(data::text), 0)::int as bytes, created_at, recorded_at
    from (
      select overlay(id::text placing '8'
        from 15 for 1)::uuid as id, project_id, contact_id, 'email.delivery' as name,
            jsonb_build_object('subject', subject, 'from', from_email, 'fromName', from_name,
            'messageId', message_id, 'emailId', id, 'templateId', template_id, 'campaignId',
            campaign_id, 'sourceType', source_type, 'deliveredAt', to_char(delivered_at at time zone
            'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as data, delivered_at as created_at,
            delivered_at as recorded_at, id as email_id, null::xid8 as tx
      from (
        select inner_moment.at, inner_moment.email_id
        from email_moment inner_moment
        where inner_moment.project_id = $6 and inner_moment.kind = 2 and at >= (
          select at
          from last)) moment
      join email on email.id = email_id
      where delivered_at is not null and derived_events & 2 <> 0 and true
      order by moment.at desc, email_id desc
      limit $7) as mail)) as found
order by created_at desc, recorded_at desc, id desc
limit $8

with touched as (
  select distinct project_id, name, day
  from event_tally
  where fresh ), gone as (
  delete from event_tally tally using touched
  where (tally.project_id, tally.name, tally.day) = (touched.project_id, touched.name, touched.day)
  returning tally.project_id, tally.name, tally.day, tally.count ), noted as (
  update event_subscription
  set next_reconcile_at = now()
  where id = any (array(
      select inner_recorded.id
      from event_subscription inner_recorded
      where inner_recorded.project_id in (
        select project_id
        from event_tally
        where fresh)
      for no key update skip locked))
  returning id ), locked as materialized (
  select distinct project_id
  from event_subscription
  where project_id in (
    select project_id
    from touched) and id not in (
    select id
    from noted) )
insert into event_tally (project_id, name, day, count, fresh)
select project_id, name, day, sum(count), project_id in (
  select project_id
  from locked)
from gone
group by 1, 2, 3 having sum(count) <> 0 or project_id in (
  select project_id
  from locked)
