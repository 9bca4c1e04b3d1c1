-- no transaction
-- What operators watch: executions that cannot go on, and how long Temporal has not been told.
drop index concurrently if exists execution_stuck;
create index concurrently execution_stuck on execution (stuck_since)
  where stuck_since is not null and status in ('RUNNING', 'WAITING');
-- Kept by later requests for the same run.
alter table outbox add column if not exists created_at timestamptz(3) not null default now();
