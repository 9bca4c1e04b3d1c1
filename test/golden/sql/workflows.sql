delete from wait
where step_execution_id = $1

delete from workflow_step
where id = any($1::uuid[])

delete from workflow_transition
where id = any($1::uuid[])

insert into workflow (project_id, name, trigger_event_name, execution_key, reentry_mode,
    reentry_min_interval, trigger_where)
values ($1, $2, $3, $4, $5, $6, $7)
returning workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version

insert into workflow_step (id, key, project_id, workflow_id, type, name, position_x, position_y,
    config, template_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)

insert into workflow_step (key, project_id, workflow_id, type, name, position_x, position_y, config,
    template_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
returning workflow_step.config, workflow_step.created_at, workflow_step.id, workflow_step.key,
    workflow_step.name, workflow_step.position_x, workflow_step.position_y,
    workflow_step.project_id, workflow_step.template_id, workflow_step.type,
    workflow_step.updated_at, workflow_step.workflow_id

insert into workflow_step (project_id, workflow_id, type, position_x, position_y, key, name, config)
values ($1, $2, $3, $4, $5, $6, $7, $8)

insert into workflow_transition (id, project_id, workflow_id, from_step_id, to_step_id, branch,
    wait_outcome)
values ($1, $2, $3, $4, $5, $6, $7)

insert into workflow_transition (project_id, workflow_id, from_step_id, to_step_id, branch,
    wait_outcome, priority)
values ($1, $2, $3, $4, $5, $6, $7)
returning workflow_transition.branch, workflow_transition.created_at,
    workflow_transition.from_step_id, workflow_transition.id, workflow_transition.priority,
    workflow_transition.project_id, workflow_transition.to_step_id, workflow_transition.updated_at,
    workflow_transition.wait_outcome, workflow_transition.workflow_id

insert into workflow_version (workflow_id, project_id, version, graph, base, difference, caused_by,
    restored_from, changes)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)

select (
  select coalesce(jsonb_agg(jsonb_build_object('stepId', step_id, 'status', status, 'branch',
      coalesce(inner_mark_of.output ->> 'branch', inner_mark_of.output ->> 'arm',
      lower(inner_mark_of.output ->> 'waitOutcome')), 'startedAt', to_char(started_at at time zone
      'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'endedAt', case when status in ('COMPLETED',
      'SKIPPED') then to_char(coalesce(settled_at, completed_at) at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end, 'eventId', ending_event_id, 'hasCalled', coalesce(output
      ? 'statusCode', false), 'hasClosed', coalesce(output ? 'closedBy', false), 'hasWaited',
      coalesce(output ? 'waitOutcome' or output ->> 'resumeAt' is not null, false) or history @>
      '[{to: "WAITING"}]', 'dueAt', to_char(case when status = 'SCHEDULED' then
      greatest(scheduled_for, updated_at) else scheduled_for end at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'isOver', coalesce((output ->> 'resumeAt')::timestamptz <=
      clock_timestamp(), (output ->> 'past')::boolean, false))), '[]')
  from step_execution inner_mark_of
  where inner_mark_of.execution_id = execution.id) as marks
from execution
where id = $1

select coalesce(sum(found.number), 0)::int as total
from (
  select id as workflow_id, status
  from workflow inner_searched
  cross join unnest($1::text[]) status
  where project_id = $2) place
cross join lateral (
  select count(*) as number
  from execution
  where execution.workflow_id = place.workflow_id and execution.status = place.status) found

select count(*)::int as started, count(*) filter (
  where status in ('RUNNING', 'WAITING'))::int as active, (
  select count(*)::int
  from execution
  where execution.workflow_id = $1 and paused_at is not null and status in ('RUNNING', 'WAITING'))
      as paused, count(*) filter (
  where status = 'COMPLETED')::int as completed, count(*) filter (
  where status = 'EXITED')::int as exited, count(*) filter (
  where status = 'FAILED')::int as failed, count(*) filter (
  where status = 'CANCELLED')::int as cancelled
from execution
where execution.workflow_id = $2

select count(*)::int as total
from execution
where execution.workflow_id = $1

select count(*)::int as total
from workflow
where workflow.project_id = $1

select count(email.sent_at)::int as sent, count(email.converted_at)::int as converted,
    coalesce(sum(conversions), 0)::float8 as conversions, coalesce(round(sum(value), 6), 0)::text as
    value
from execution
join email on email.workflow_execution_id = execution.id
left join lateral (
  select count(*) as conversions, sum(conversion.value) as value
  from conversion
  where conversion.email_id = email.id) led on email.converted_at is not null
where execution.workflow_id = $1

select current_step_id as "stepId", count(*)::int as waiting
from execution
where execution.workflow_id = $1 and status in ('RUNNING', 'WAITING') and current_step_id is not
    null
group by 1

select event_id, expires_at, event_id is null and coalesce(expires_at > clock_timestamp() + interval
    '1 minute', true) as is_open
from wait
where step_execution_id = $1
for update

select execution.caused_by, execution.completed_at, execution.contact_id, execution.context,
    execution.created_at, execution.current_step_id, execution.depth, execution.earlier_versions,
    execution.error, execution.exit_pending, execution.exit_reason, execution.held_at,
    execution.history, execution.id, execution.key, execution.move_job_id,
    execution.next_reconcile_at, execution.pause_reason, execution.paused_at, execution.project_id,
    execution.slot, execution.start_generation, execution.started_at, execution.starting_event_id,
    execution.status, execution.stuck_reason, execution.stuck_since, execution.temporal_run_id,
    execution.updated_at, execution.warnings, execution.workflow_id, execution.workflow_name,
    execution.workflow_version, contact.email as contact_email, (
  select jsonb_build_object('id', step -> 'id', 'name', step -> 'name', 'type', step -> 'type')
  from graph_step(version.whole, version.difference, execution.current_step_id) as step
  where step is not null) as current_step
from execution
inner join contact on contact.id = execution.contact_id
inner join workflow_graph as version on version.workflow_id = execution.workflow_id and
    version.version = execution.workflow_version
where execution.id in (
  select execution.id
  from execution
  where execution.workflow_id = $1
  order by execution.started_at desc, execution.id desc
  limit $2 offset $3)
order by execution.started_at desc, execution.id desc

select execution.caused_by, execution.completed_at, execution.contact_id, execution.context,
    execution.created_at, execution.current_step_id, execution.depth, execution.earlier_versions,
    execution.error, execution.exit_pending, execution.exit_reason, execution.held_at,
    execution.history, execution.id, execution.key, execution.move_job_id,
    execution.next_reconcile_at, execution.pause_reason, execution.paused_at, execution.project_id,
    execution.slot, execution.start_generation, execution.started_at, execution.starting_event_id,
    execution.status, execution.stuck_reason, execution.stuck_since, execution.temporal_run_id,
    execution.updated_at, execution.warnings, execution.workflow_id, execution.workflow_name,
    execution.workflow_version, contact.email as contact_email, (
  select jsonb_build_object('id', step -> 'id', 'name', step -> 'name', 'type', step -> 'type')
  from graph_step(version.whole, version.difference, execution.current_step_id) as step
  where step is not null) as current_step, version.whole, version.difference
from execution
inner join contact on contact.id = execution.contact_id
inner join workflow_graph as version on version.workflow_id = execution.workflow_id and
    version.version = execution.workflow_version
where execution.id = $1

select execution.caused_by, execution.completed_at, execution.contact_id, execution.context,
    execution.created_at, execution.current_step_id, execution.depth, execution.earlier_versions,
    execution.error, execution.exit_pending, execution.exit_reason, execution.held_at,
    execution.history, execution.id, execution.key, execution.move_job_id,
    execution.next_reconcile_at, execution.pause_reason, execution.paused_at, execution.project_id,
    execution.slot, execution.start_generation, execution.started_at, execution.starting_event_id,
    execution.status, execution.stuck_reason, execution.stuck_since, execution.temporal_run_id,
    execution.updated_at, execution.warnings, execution.workflow_id, execution.workflow_name,
    execution.workflow_version, contact.email as contact_email, (
  select jsonb_build_object('id', step -> 'id', 'name', step -> 'name', 'type', step -> 'type')
  from graph_step(version.whole, version.difference, execution.current_step_id) as step
  where step is not null) as current_step, workflow.name as current_workflow_name,
      to_char(execution.started_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as
      started_instant
from execution
inner join contact on contact.id = execution.contact_id
inner join workflow_graph as version on version.workflow_id = execution.workflow_id and
    version.version = execution.workflow_version
inner join workflow on workflow.id = execution.workflow_id
where execution.id in (
  select found.id
  from (
    select id as workflow_id, status
    from workflow inner_searched
    cross join unnest($1::text[]) status
    where project_id = $2) place
  cross join lateral ( (
      select id, started_at
      from execution
      where execution.workflow_id = place.workflow_id and execution.status = place.status and true
      order by started_at desc, id desc
      limit $3)) found
  order by found.started_at desc, found.id desc
  limit $4)
order by execution.started_at desc, execution.id desc

select execution.id as "executionId", execution.project_id as "projectId", execution.workflow_id as
    "workflowId", execution.workflow_name as "workflowName", execution.workflow_version as version,
    execution.contact_id as "contactId", project.name as "projectName", execution.key,
    execution.caused_by as "causedBy", to_char(execution.started_at at time zone 'utc',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "startedAt", execution.current_step_id as "currentStepId",
    execution.start_generation as generation, execution.status, execution.earlier_versions is not
    null as "isMoved", (
  select coalesce(jsonb_agg(jsonb_build_object('stepId', step_id, 'status', status, 'branch',
      coalesce(inner_mark_of.output ->> 'branch', inner_mark_of.output ->> 'arm',
      lower(inner_mark_of.output ->> 'waitOutcome')), 'startedAt', to_char(started_at at time zone
      'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'endedAt', case when status in ('COMPLETED',
      'SKIPPED') then to_char(coalesce(settled_at, completed_at) at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end, 'eventId', ending_event_id, 'hasCalled', coalesce(output
      ? 'statusCode', false), 'hasClosed', coalesce(output ? 'closedBy', false), 'hasWaited',
      coalesce(output ? 'waitOutcome' or output ->> 'resumeAt' is not null, false) or history @>
      '[{to: "WAITING"}]', 'dueAt', to_char(case when status = 'SCHEDULED' then
      greatest(scheduled_for, updated_at) else scheduled_for end at time zone 'utc',
      'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'isOver', coalesce((output ->> 'resumeAt')::timestamptz <=
      clock_timestamp(), (output ->> 'past')::boolean, false))), '[]')
  from step_execution inner_mark_of
  where inner_mark_of.execution_id = execution.id) as marks, execution.updated_at::text as
      "updatedAt"
from execution
inner join project on project.id = execution.project_id
where execution.id = any($1::uuid[])

select exit_rules
from workflow
where id = $1

select given.id, stored.caused_by as "causedBy"
from unnest($1::uuid[], $2::int[]) as given(id, version)
join workflow_version stored on stored.workflow_id = given.id and stored.version = given.version

select id, from_step_id as "fromStepId", to_step_id as "toStepId", branch
from workflow_transition
where workflow_id = $1
order by created_at, id

select id, type, name, config, template_id as "templateId"
from workflow_step
where workflow_id = $1
order by created_at, id

select step.config, step.created_at, step.id, step.key, step.name, step.position_x, step.position_y,
    step.project_id, step.template_id, step.type, step.updated_at, step.workflow_id, template.name
    as template_name
from workflow_step as step
left join template on template.id = step.template_id
where step.workflow_id = $1
order by step.created_at, step.id

select step.step_id as "stepId", percentile_cont(0.5) within group (
  order by extract(epoch from step.completed_at::timestamptz(3) - step.started_at)::float8) as
      "medianSeconds"
from execution
join step_execution step on step.execution_id = execution.id
where execution.workflow_id = $1 and step.status = 'COMPLETED'
group by 1

select step.step_id as "stepId", step.status, step.started_at is not null as "isBegun", case when
    step.status in ('COMPLETED', 'SKIPPED') and step.step_id = any($1::uuid[]) then
    coalesce(step.output ->> 'branch', step.output ->> 'arm', lower(step.output ->> 'waitOutcome'))
    end as branch, count(*)::int as times
from execution
join step_execution step on step.execution_id = execution.id
where execution.workflow_id = $2
group by 1, 2, 3, 4

select step_execution.attempts, step_execution.completed_at, step_execution.created_at,
    step_execution.ending_event_id, step_execution.error, step_execution.execute_after,
    step_execution.execution_id, step_execution.history, step_execution.id, step_execution.output,
    step_execution.project_id, step_execution.scheduled_for, step_execution.settled_at,
    step_execution.started_at, step_execution.status, step_execution.step_id,
    step_execution.updated_at, case when wait.digest is null then output else output ||
    jsonb_build_object('count', wait.digest_count, 'closesAt', to_char(wait.expires_at at time zone
    'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as output
from step_execution
left join wait on wait.step_execution_id = step_execution.id
where step_execution.execution_id = $1
order by step_execution.created_at, step_execution.id

select stored.version, stored.created_at, stored.caused_by, stored.restored_from, stored.changes,
    stored.base, graph.whole, graph.difference
from workflow_version as stored
inner join workflow_graph as graph on graph.workflow_id = stored.workflow_id and graph.version =
    stored.version
where stored.workflow_id = $1 and stored.version = $2::bigint

select whole::text as whole, difference::text as difference
from workflow_graph
where workflow_id = $1 and version = $2::bigint

select workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version
from workflow
where project_id = $1 and id = $2

select workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version
from workflow
where project_id = $1 and id = any($2::uuid[])
order by id
for no key update

select workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version, (
  select count(*)::int
  from workflow_step
  where workflow_step.workflow_id = workflow.id) as steps, (
  select count(*)::int
  from execution
  where execution.workflow_id = workflow.id) as executions, (
  select count(*)::int
  from (
    select
    from execution inner_of_workflow
    where inner_of_workflow.workflow_id = workflow.id and inner_of_workflow.status in ('RUNNING',
        'WAITING')
    limit 10000) as counted) as active, (
  select count(*)::int
  from (
    select
    from execution inner_of_workflow
    where inner_of_workflow.workflow_id = workflow.id and inner_of_workflow.status in ('FAILED')
    limit 10000) as counted) as failed
from workflow
where workflow.project_id = $1
order by workflow.created_at desc, workflow.id desc
limit $2 offset $3

select workflow_id
from workflow_cancellation

select workflow_id
from workflow_release

select workflow_transition.branch, workflow_transition.created_at, workflow_transition.from_step_id,
    workflow_transition.id, workflow_transition.priority, workflow_transition.project_id,
    workflow_transition.to_step_id, workflow_transition.updated_at,
    workflow_transition.wait_outcome, workflow_transition.workflow_id
from workflow_transition
where workflow_id = $1
order by created_at, id

update execution
set next_reconcile_at = now()
where id = any($1::uuid[]) and status in ('RUNNING', 'WAITING') and next_reconcile_at > now()

update execution
set status = $1, updated_at = now(), next_reconcile_at = greatest(least($2::timestamptz + interval
    '1 minute', now() + interval '6 hours'), now() + interval '1 minute')
where id = $3 and current_step_id = $4 and status = $5 and held_at is null

update execution
set status = 'RUNNING', updated_at = now(), context = case when $1::jsonb = 'null' then context else
    coalesce(context, '{}') || $2::jsonb end, next_reconcile_at = case when status = 'RUNNING' then
    next_reconcile_at else now() + interval '5 minutes' end
where id = $3

update step_execution
set status = $1, output = $2, completed_at = clock_timestamp(), updated_at = now()
where id = $3
returning completed_at::text as at

update step_execution
set status = $1, output = $2, ending_event_id = $3, settled_at = $4::timestamptz, completed_at =
    clock_timestamp(), updated_at = now()
where id = $5
returning settled_at::text as at

update workflow
set enabled = $1, execution_key = $2, reentry_mode = $3, reentry_min_interval = $4, updated_at =
    now()
where id = $5
returning workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version

update workflow
set version = $1, updated_at = now()
where id = $2
returning workflow.created_at, workflow.description, workflow.enabled, workflow.execution_key,
    workflow.exit_rules, workflow.file_key, workflow.goal, workflow.id, workflow.name,
    workflow.paused_at, workflow.project_id, workflow.reentry_min_interval, workflow.reentry_mode,
    workflow.trigger_event_name, workflow.trigger_schedule, workflow.trigger_type,
    workflow.trigger_where, workflow.updated_at, workflow.version

update workflow_schedule
set next_reconcile_at = now() + interval '1 minute'
where workflow_id in (
  select workflow_id
  from workflow_schedule
  where next_reconcile_at < now()
  order by next_reconcile_at
  limit $1
  for update skip locked)
returning workflow_id

update workflow_schedule
set next_reconcile_at = now(), revision = workflow_schedule.revision + 1
where workflow_id = $1

update workflow_step
set name = given.name, config = given.config, template_id = given."templateId", position_x =
    (given.position ->> 'x')::float8, position_y = (given.position ->> 'y')::float8, updated_at =
    now()
from jsonb_to_recordset($1::jsonb) as given(id uuid, name text, config jsonb, "templateId" uuid,
    position jsonb)
where workflow_step.id = given.id

with claimed as (
  update execution
  set next_reconcile_at = now() + interval '20 seconds'
  where id in (
    select id
    from execution
    where status in ('RUNNING', 'WAITING') and next_reconcile_at < now()
    order by next_reconcile_at
    limit $1
    for update skip locked)
  returning id, project_id, workflow_name, status, start_generation, current_step_id, started_at,
      stuck_since )
select claimed.id, project_id as "projectId", workflow_name as "workflowName", claimed.status,
    start_generation as generation, stuck_since is not null as "wasStuck",
    coalesce(claimed.started_at < (
    select max(held_before)
    from restore
    where kind = 'database_older'), false) as "isOfBefore", (
  select tries
  from outbox
  where run_id = 'execution-' || claimed.id) as tries, (extract(epoch from now() - coalesce((
        select step.started_at
        from step_execution step
        where step.execution_id = claimed.id and step.step_id = claimed.current_step_id),
            claimed.started_at)) * 1000)::float8 as "stepMs"
from claimed

with ended as (
  select id
  from execution
  where id = any($1::uuid[]) and status not in ('RUNNING', 'WAITING') ), closed as (
  update step_execution
  set completed_at = clock_timestamp(), updated_at = now(), status = case step_execution.status when
      'RUNNING' then 'SKIPPED' else 'SKIPPED' end
  from ended
  where step_execution.execution_id = ended.id and step_execution.status in ('PENDING', 'SCHEDULED',
      'WAITING', 'RUNNING') ), forgotten as (
  delete from wait using ended
  where wait.execution_id = ended.id )
select
from ended

with ended as (
  update execution
  set status = 'COMPLETED', current_step_id = null, completed_at = clock_timestamp(), updated_at =
      now()
  where id = $1 and status in ('RUNNING', 'WAITING') and workflow_version = $2 and (status =
      'RUNNING' or exists (
      select
      from step_execution step
      where step.execution_id = execution.id and step.step_id = current_step_id and ((step.output
          ->> 'past')::boolean is true or (step.output ->> 'resumeAt')::timestamptz <=
          clock_timestamp() + interval '1 minute')))
  returning id ), closed as (
  update step_execution
  set completed_at = clock_timestamp(), updated_at = now(), status = case step_execution.status when
      'RUNNING' then 'SKIPPED' else 'SKIPPED' end
  from ended
  where step_execution.execution_id = ended.id and step_execution.status in ('PENDING', 'SCHEDULED',
      'WAITING', 'RUNNING') ), forgotten as (
  delete from wait using ended
  where wait.execution_id = ended.id )
select exists (
  select
  from ended) or not exists (
  select
  from execution
  where id = $3 and status <> 'COMPLETED') as "isOver"

with held as (
  select id
  from contact
  where id = (
    select contact_id
    from execution
    where id = $1)
  for no key update ), active as (
  select execution.id, execution.project_id, contact_id, workflow_id, workflow_name, key,
      started_at, context, exit_pending, move_job_id, coalesce(execution.paused_at,
      workflow.paused_at) is not null as is_paused
  from held, execution
  left join workflow on workflow.id = execution.workflow_id
  where execution.id = $2 and execution.contact_id = held.id and status in ('RUNNING', 'WAITING')
      and workflow_version = $3
  for no key update of execution ), step as (
  insert into step_execution (id, project_id, execution_id, step_id, status, started_at)
  select $4::uuid, project_id, id, $5::uuid, 'RUNNING', clock_timestamp()
  from active
  where not is_paused and exit_pending is null and move_job_id is null or exists (
    select
    from step_execution begun
    where begun.execution_id = active.id and begun.step_id = $6 and begun.status <> 'SCHEDULED')
  on conflict (execution_id, step_id) do update
  set status = case when step_execution.status in ('COMPLETED', 'WAITING') then
      step_execution.status else 'RUNNING' end, started_at = coalesce(step_execution.started_at,
      clock_timestamp()), completed_at = case when step_execution.status = 'COMPLETED' then
      step_execution.completed_at end, updated_at = now()
  where step_execution.status <> 'SKIPPED' and (step_execution.status <> 'SCHEDULED' or
      step_execution.scheduled_for <= clock_timestamp() + interval '1 minute')
  returning id, status, attempts, output, started_at, coalesce(settled_at, completed_at) as
      completed_at ), entered as (
  update execution
  set status = 'RUNNING', current_step_id = $7, updated_at = now(), held_at = null,
      next_reconcile_at = case when execution.status = 'RUNNING' then next_reconcile_at else now() +
      interval '5 minutes' end, stuck_since = null, stuck_reason = null
  from step
  where execution.id = $8 and step.status not in ('COMPLETED', 'WAITING') )
select active.id, active.project_id, active.contact_id, active.workflow_id, active.workflow_name,
    active.key, active.started_at, active.context, active.exit_pending, active.move_job_id,
    active.is_paused, step.id as step_execution_id, step.status as step_status, step.attempts,
    step.output, step.started_at as step_started_at, case when step.status = 'COMPLETED' then
    step.completed_at::text end as completed_at
from active
cross join step

with recorded as (
  select id, contact_id, email_id, name, data, created_at, recorded_at, actor.caused_by
  from event
  join unnest( $1::uuid[], $2::text[]) as actor(id, caused_by) using (id)
  where id = any($3::uuid[]) ), matched as (
  update wait
  set event_id = recorded.id
  from recorded
  where wait.contact_id = recorded.contact_id and wait.event_name = recorded.name and wait.event_id
      is null and (wait.digest is not null or wait.expires_at is null or wait.expires_at >
      recorded.recorded_at)
  returning wait.step_execution_id, wait.execution_id ), started as (
  insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
      current_step_id, context, starting_event_id, depth, status, error, completed_at, key, slot,
      caused_by)
  select workflow.project_id, workflow.id, workflow.version, workflow.name, recorded.contact_id,
      step.id, recorded.data, recorded.id, cause.depth, case when chain.fault is null then 'RUNNING'
      else 'FAILED' end, chain.fault, case when chain.fault is not null then clock_timestamp() end,
      null::text, '', case when cause.depth > 0 then cause.actor else recorded.caused_by end
  from recorded
  join workflow on workflow.project_id = $4 and workflow.trigger_event_name = recorded.name and
      workflow.enabled and workflow.trigger_type = 'EVENT'
  join workflow_step step on step.workflow_id = workflow.id and step.type = 'TRIGGER'
  cross join lateral (
    select coalesce(max(inner_before.depth) + 1, 0)::smallint as depth, max(inner_before.caused_by)
        as actor
    from execution inner_before
    where inner_before.id = coalesce($5::uuid, (
        select inner_mail_of.workflow_execution_id
        from email inner_mail_of
        where inner_mail_of.id = recorded.email_id), case when recorded.name like 'segment.%' then (
        select inner_cause.id
        from execution inner_cause
        where inner_cause.contact_id = recorded.contact_id and inner_cause.updated_at > now() -
            interval '10 minutes' and exists (
          select
          from step_execution inner_step
          where inner_step.execution_id = inner_cause.id and inner_step.completed_at > now() -
              interval '10 minutes' and (inner_step.output ? 'newData' or inner_step.output ?
              'emailId'))
        order by inner_cause.depth desc
        limit 1) end)) cause
  cross join lateral (
    select case when cause.depth > $6 then $7 when cause.depth > 0 and (
      select count(*)
      from (
        select
        from execution inner_caused
        where inner_caused.contact_id = recorded.contact_id and inner_caused.workflow_id =
            workflow.id and inner_caused.started_at > now() - interval '1 hour' and
            inner_caused.depth > 0
        limit $8) inner_counted) = $9 then $10 end as fault) chain
  where recorded.contact_id is not null and not exists (
    select
    from project
    where project.id = $11 and project.disabled_reason is not null) and not case
        workflow.reentry_mode when 'once' then exists (
    select
    from execution inner_earlier
    where inner_earlier.workflow_id = workflow.id and inner_earlier.contact_id =
        recorded.contact_id) when 'after_end' then exists (
    select
    from execution inner_earlier
    where inner_earlier.workflow_id = workflow.id and inner_earlier.contact_id = recorded.contact_id
        and inner_earlier.status in ('RUNNING', 'WAITING') and inner_earlier.slot is not null) else
        false end
  order by workflow.id
  for key share of workflow
  on conflict (workflow_id, contact_id, slot)
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
  select 'execution-' || id, $12::uuid, 'customerWorkflow', 'start', '{}'::jsonb
  from started
  where status = 'RUNNING'
  union all
  select 'execution-' || matched.execution_id, $13::uuid, 'customerWorkflow', 'signal',
      jsonb_build_object('stepId', step_execution.step_id)
  from matched
  join step_execution on step_execution.id = matched.step_execution_id
  on conflict (run_id) do update
  set action = case when excluded.action = 'signal' and outbox.action <> 'signal' then outbox.action
      else excluded.action end, input = case when excluded.action = 'signal' and outbox.action <>
      'signal' or excluded.action = 'signal' and outbox.input = '{}' then outbox.input else
      excluded.input end, summary = excluded.summary, caused_by = coalesce(excluded.caused_by,
      outbox.caused_by), generation = outbox.generation + 1, due_at = excluded.due_at, tries = 0
  returning run_id, action )
select run_id as "runId", action = 'start' as "isStart"
from enqueued

with registered as (
  insert into wait (step_execution_id, project_id, execution_id, contact_id, event_name, expires_at,
      conditions, required_data)
  values ($1, $2, $3, $4, $5, $6, $7, $8)
  on conflict (step_execution_id) do nothing)
update step_execution
set status = $9, execute_after = $10, updated_at = now()
where id = $11
