select event.contact_id, event.created_at, event.data, event.email_id, event.id, event.name,
    event.project_id, event.recorded_at, contact.email as contact_email
from event
left join contact on contact.id = event.contact_id
where event.id = any($1::uuid[])
order by array_position($2::uuid[], event.id)

select id, coalesce(octet_length(data::text), 0) as bytes
from event
where event.project_id = $1
order by event.created_at desc, event.recorded_at desc, event.id desc
limit $2

select id, name, data, created_at
from event
where contact_id = $1 and name = $2 and recorded_at > $3::timestamptz and recorded_at < $4
order by recorded_at
limit $5

select id, name, data, created_at
from event
where id = $1

select id, project_id, contact_id, campaign_id, template_id, source_type, subject, from_email,
    from_name, to_email, attempts, status, error, message_id, sent_at, delivered_at, opened_at,
    clicked_at, bounced_at, complained_at, opens, clicks, (lease_until is not null and lease_until >
    now()) as is_under_way, (email.id = any($1::uuid[]) and exists (
    select
    from event
    where event.contact_id = email.contact_id and name = 'email.open' and event.email_id = email.id
        and recorded_at > clock_timestamp() - make_interval(secs => $2))) as was_opened_lately,
        clock_timestamp() as now
from email
where id = any($3::uuid[])
order by id
for update

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
    where project_id = $6 and day = ($7::timestamptz at time zone 'UTC')::date) named) part
group by name having sum(count) > 0
order by sum(count) desc, name collate "C"

with given as (
  select contact_id, email_id, name, data
  from jsonb_to_recordset($1::jsonb) as e(contact_id uuid, email_id uuid, name text, data jsonb) ),
      recorded as (
  insert into event (project_id, contact_id, email_id, name, data)
  select $2, contact_id, email_id, name, nullif(data, 'null')
  from given
  returning id, contact_id, email_id, name, data, created_at, recorded_at ), matched as (
  update wait
  set event_id = recorded.id
  from recorded
  where wait.contact_id = recorded.contact_id and wait.event_name = recorded.name and wait.event_id
      is null and (wait.expires_at is null or wait.expires_at > recorded.recorded_at)
  returning wait.step_execution_id, wait.execution_id ), started as (
  insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
      current_step_id, context, depth, status, error, completed_at)
  select workflow.project_id, workflow.id, workflow.version, workflow.name, recorded.contact_id,
      step.id, recorded.data, cause.depth, case when cause.depth > $3 then 'FAILED' else 'RUNNING'
      end, case when cause.depth > $4 then $5 end, case when cause.depth > $6 then clock_timestamp()
      end
  from recorded
  join workflow on workflow.project_id = $7 and workflow.trigger_event_name = recorded.name and
      workflow.enabled and workflow.trigger_type = 'EVENT'
  join workflow_step step on step.workflow_id = workflow.id and step.type = 'TRIGGER'
  cross join lateral (
    select coalesce(max(depth) + 1, 0)::smallint as depth
    from execution
    where execution.id = coalesce($8::uuid, (
        select workflow_execution_id
        from email
        where email.id = recorded.email_id))) cause
  where recorded.contact_id is not null and not exists (
    select
    from project
    where project.id = $9 and project.disabled_reason is not null) and (workflow.allow_reentry or
        not exists (
      select
      from execution earlier
      where earlier.workflow_id = workflow.id and earlier.contact_id = recorded.contact_id))
  order by workflow.id
  for key share of workflow
  on conflict (workflow_id, contact_id)
  where status in ('RUNNING', 'WAITING') do nothing
  returning id, project_id, current_step_id, started_at, workflow_id, status ), triggered as (
  insert into step_execution (project_id, execution_id, step_id, status, output, started_at,
      completed_at)
  select started.project_id, started.id, started.current_step_id, 'COMPLETED',
      jsonb_build_object('triggered', true, 'eventName', workflow.trigger_event_name, 'timestamp',
      to_char(started.started_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      started.started_at, started.started_at
  from started
  join workflow on workflow.id = started.workflow_id ), enqueued as (
  insert into outbox (run_id, project_id, kind, action, input)
  select 'execution-' || id, $10::uuid, 'customerWorkflow', 'start', '{}'::jsonb
  from started
  where status = 'RUNNING'
  union all
  select 'execution-' || matched.execution_id, $11::uuid, 'customerWorkflow', 'signal',
      jsonb_build_object('stepId', step_execution.step_id)
  from matched
  join step_execution on step_execution.id = matched.step_execution_id
  on conflict (run_id) do update
  set action = excluded.action, input = excluded.input, summary = excluded.summary, generation =
      outbox.generation + 1, due_at = excluded.due_at, tries = 0
  returning run_id, action )
select (
  select coalesce(json_agg(json_build_object('id', id, 'created_at', created_at)), '[]')
  from recorded) as recorded, (
  select coalesce(json_agg(json_build_object('runId', run_id, 'isStart', action = 'start')), '[]')
  from enqueued) as runs

with page as (
  select type, kind, id, at, item_id
  from ( (
      select 'event.triggered' as type, 'event' as kind, id, created_at as at, '' || id || '' as
          item_id
      from event
      where name !~ '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$' and
          project_id = $1
      order by created_at desc, id desc
      limit $2)
    union all (
      select 'contact.subscribed' as type, 'event' as kind, id, created_at as at, '' || id || '' as
          item_id
      from event
      where name = 'contact.subscribed' and project_id = $3
      order by created_at desc, id desc
      limit $4)
    union all (
      select 'contact.unsubscribed' as type, 'event' as kind, id, created_at as at, '' || id || ''
          as item_id
      from event
      where name = 'contact.unsubscribed' and project_id = $5
      order by created_at desc, id desc
      limit $6)
    union all (
      select 'email.sent' as type, 'email' as kind, id, sent_at as at, '' || id || '_sent' as
          item_id
      from email
      where sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND' and project_id =
          $7
      order by sent_at desc, id desc
      limit $8)
    union all (
      select 'email.delivered' as type, 'email' as kind, id, delivered_at as at, '' || id ||
          '_delivered' as item_id
      from email
      where delivered_at is not null and project_id = $9
      order by delivered_at desc, id desc
      limit $10)
    union all (
      select 'email.opened' as type, 'email' as kind, id, opened_at as at, '' || id || '_opened' as
          item_id
      from email
      where opened_at is not null and project_id = $11
      order by opened_at desc, id desc
      limit $12)
    union all (
      select 'email.clicked' as type, 'email' as kind, id, clicked_at as at, '' || id || '_clicked'
          as item_id
      from email
      where clicked_at is not null and project_id = $13
      order by clicked_at desc, id desc
      limit $14)
    union all (
      select 'email.bounced' as type, 'email' as kind, id, bounced_at as at, '' || id || '_bounced'
          as item_id
      from email
      where bounced_at is not null and project_id = $15
      order by bounced_at desc, id desc
      limit $16)
    union all (
      select 'email.complaint' as type, 'email' as kind, id, complained_at as at, '' || id ||
          '_complaint' as item_id
      from email
      where complained_at is not null and project_id = $17
      order by complained_at desc, id desc
      limit $18)
    union all (
      select 'email.received' as type, 'email' as kind, id, created_at as at, '' || id ||
          '_received' as item_id
      from email
      where source_type = 'INBOUND' and project_id = $19
      order by created_at desc, id desc
      limit $20)
    union all (
      select 'campaign.sent' as type, 'campaign' as kind, id, sent_at as at, 'campaign_' || id ||
          '_sent' as item_id
      from campaign
      where sent_at is not null and project_id = $21
      order by sent_at desc, id desc
      limit $22)
    union all (
      select 'workflow.started' as type, 'execution' as kind, id, (date_trunc('milliseconds',
          started_at at time zone 'UTC') at time zone 'UTC') as at, '' || id || '_started' as
          item_id
      from execution
      where exists (
        select
        from workflow
        where workflow.id = workflow_id) and project_id = $23
      order by date_trunc('milliseconds', started_at at time zone 'UTC') desc, id desc
      limit $24)
    union all (
      select 'workflow.completed' as type, 'execution' as kind, id, completed_at as at, '' || id ||
          '_completed' as item_id
      from execution
      where completed_at is not null and exists (
        select
        from workflow
        where workflow.id = workflow_id) and project_id = $25
      order by completed_at desc, id desc
      limit $26)) part
  order by at desc, item_id collate "C" desc
  limit $27 )
select page.type, page.item_id, to_char(page.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    as at, contact.id as contact_id, contact.email as contact_email, event.name as event_name,
    event.data as event_data, email.subject, email.from_email, email.from_name, email.reply_to,
    email.to_name, email.source_type, email.opens, email.clicks, email.error, email.id as email_id,
    coalesce(octet_length(email.body), octet_length(email.body_values::text) +
    octet_length(frame.body::text), 0) as body_bytes, campaign.name as campaign_name,
    campaign.subject as campaign_subject, campaign.total_recipients, campaign.audience_type,
    segment.name as segment_name, execution.workflow_name, execution.status, execution.exit_reason
from page
left join event on page.kind = 'event' and event.id = page.id
left join email on page.kind = 'email' and email.id = page.id
left join campaign on campaign.id = case page.kind when 'campaign' then page.id else
    email.campaign_id end
left join campaign_frame frame on frame.campaign_id = email.campaign_id and frame.frame =
    email.body_frame
left join segment on segment.id = campaign.segment_id
left join execution on execution.id = case page.kind when 'execution' then page.id else
    email.workflow_execution_id end and (
  select true
  from workflow
  where workflow.id = execution.workflow_id)
left join contact on contact.id = case page.kind when 'event' then event.contact_id when 'email'
    then email.contact_id when 'execution' then execution.contact_id end
order by page.at desc, page.item_id collate "C" desc

with touched as (
  select distinct project_id, name, day
  from event_tally
  where fresh ), gone as (
  delete from event_tally tally using touched
  where (tally.project_id, tally.name, tally.day) = (touched.project_id, touched.name, touched.day)
  returning tally.project_id, tally.name, tally.day, tally.count )
insert into event_tally (project_id, name, day, count, fresh)
select project_id, name, day, sum(count), false
from gone
group by 1, 2, 3 having sum(count) <> 0
