delete from run_wake using unnest( $1::text[], $2::int[]) as told(run_id, requests)
where run_wake.run_id = told.run_id and run_wake.requests = told.requests

insert into run_wake (run_id, project_id, kind, input, summary, requests)
values ($1, $2, $3, $4, $5, (random() * 1000000000)::int)
on conflict (run_id) do update
set input = excluded.input, summary = excluded.summary, requests = run_wake.requests + 1,
    dispatch_at = now() + interval '5 seconds'

select run_wake.dispatch_at, run_wake.input, run_wake.kind, run_wake.project_id, run_wake.requests,
    run_wake.run_id, run_wake.summary
from run_wake
where run_id = any($1::text[])

update run_wake
set dispatch_at = now() + interval '30 seconds'
where run_id in (
  select run_id
  from run_wake
  where dispatch_at < now()
  order by dispatch_at
  limit $1
  for update skip locked)
returning run_id
