-- no transaction

set lock_timeout = 1000;

alter table job add column if not exists subscription_id uuid;
comment on column job.subscription_id is 'Of a replay: whose events it takes.';
alter table job drop constraint if exists job_kind_check;
alter table job add constraint job_kind_check check (kind in
  ('import', 'bulk', 'migrate', 'move-waits', 'retry-all', 'replay')) not valid;

reset lock_timeout;

-- One replay of a subscription at a time.
drop index concurrently if exists job_open_subscription;
create unique index concurrently job_open_subscription on job (subscription_id)
  where subscription_id is not null and state in ('waiting', 'active');
