select id, project_id, name, status, dkim_tokens, ownership_token, record_statuses, last_checked_at,
    verified_at, created_at, updated_at
from domain
where id = $1 and dkim_tokens <> '{}'

select id, project_id, name, status, dkim_tokens, ownership_token, record_statuses, last_checked_at,
    verified_at, created_at, updated_at, failed_checks, next_check_at, now() as now
from domain
where id = $1
for update

select status
from domain
where project_id = $1 and name = $2

select status, case when next_check_at is not null then greatest(0, ceil(extract(epoch from
    next_check_at - clock_timestamp()) * 1000)::float8) end as "dueMs"
from domain
where id = $1

update domain
set next_reconcile_at = now() + interval '10 minutes'
where id in (
  select id
  from domain
  where next_check_at < now() - interval '10 minutes' and next_reconcile_at < now()
  limit $1
  for update skip locked)
returning id, project_id, name

update domain
set status = $1, failed_checks = $2, record_statuses = record_statuses || $3::jsonb, last_checked_at
    = $4, next_check_at = $5, updated_at = $6
where id = $7
returning id, project_id, name, status, dkim_tokens, ownership_token, record_statuses,
    last_checked_at, verified_at, created_at, updated_at
