insert into outbox (run_id, project_id, kind, action, input, summary, caused_by)
values ($1, $2, $3, 'signal', $4, $5, $6)
on conflict (run_id) do update
set action = case when excluded.action = 'signal' and outbox.action <> 'signal' then outbox.action
    else excluded.action end, input = case when excluded.action = 'signal' and outbox.action <>
    'signal' or excluded.action = 'signal' and outbox.input = '{}' then outbox.input else
    excluded.input end, summary = excluded.summary, caused_by = coalesce(excluded.caused_by,
    outbox.caused_by), generation = outbox.generation + 1, due_at = excluded.due_at, tries = 0

insert into outbox (run_id, project_id, kind, action, input, summary, caused_by)
values ($1, $2, $3, 'signal', $4, $5, (
    select sent_by
    from campaign
    where id = $6))
on conflict (run_id) do update
set action = case when excluded.action = 'signal' and outbox.action <> 'signal' then outbox.action
    else excluded.action end, input = case when excluded.action = 'signal' and outbox.action <>
    'signal' or excluded.action = 'signal' and outbox.input = '{}' then outbox.input else
    excluded.input end, summary = excluded.summary, caused_by = coalesce(excluded.caused_by,
    outbox.caused_by), generation = outbox.generation + 1, due_at = excluded.due_at, tries = 0

insert into watermark (name, at)
values ($1, $2)
on conflict (name) do update
set at = excluded.at
where watermark.at < excluded.at

select
from watermark
where name = $1 and at <= date_trunc('day', now(), 'UTC') - interval '72 hours'
for update skip locked

select at
from watermark
where name = $1

select outbox.action, outbox.caused_by, outbox.created_at, outbox.due_at, outbox.generation,
    outbox.input, outbox.kind, outbox.project_id, outbox.run_id, outbox.summary, outbox.tries
from outbox
where run_id = any($1::text[])

update watermark
set at = coalesce($1::timestamptz, date_trunc('day', now(), 'UTC') - interval '72 hours') + interval
    '24 hours'
where name = $2

with recursive project(id) as (
  select project_id
  from (
    select project_id
    from outbox
    where project_id is not null
    order by project_id
    limit 1) first
  union all
  select (
    select project_id
    from outbox
    where project_id > project.id
    order by project_id
    limit 1)
  from project
  where project.id is not null ), late as (
  select id, count(*) over () as projects
  from project, lateral (
    select due_at
    from outbox
    where project_id = project.id
    order by due_at
    limit 1) oldest
  where due_at < now()
  order by due_at
  limit $1 ), claimed as (
  select run_id
  from (
    select run_id
    from outbox
    where project_id is null and due_at < now()
    order by due_at
    limit $2
    for update skip locked) platform
  union all
  select run_id
  from late, lateral (
    select run_id
    from outbox
    where project_id = late.id and due_at < now()
    order by due_at
    limit greatest($3 / late.projects, 1)
    for update skip locked) own )
update outbox
set due_at = now() + interval '15 seconds', tries = least(tries + 1, 1000)
from claimed
where outbox.run_id = claimed.run_id
returning outbox.run_id as "runId", project_id as "projectId", action

with sent as (
  delete from outbox using unnest( $1::text[], $2::int[]) as sent(run_id, generation)
  where outbox.run_id = sent.run_id and outbox.generation = sent.generation )
update execution
set temporal_run_id = run.id
from unnest($3::uuid[], $4::int[], $5::text[]) as run(execution_id, generation, id)
where execution.id = run.execution_id and execution.start_generation = run.generation
