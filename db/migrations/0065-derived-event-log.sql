set lock_timeout = 1000;

-- Mail of campaigns whose derived events subscriptions are to be told of: a row for each batch that was
-- handed over. Read by position, as events are (`event.tx`).
create table derived_event_log (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  tx xid8 not null default pg_current_xact_id(),
  email_ids uuid[] not null,
  recorded_at timestamptz not null default clock_timestamp()
);
comment on table derived_event_log is 'Mail of campaigns whose events subscriptions read from its rows, for 31 days.';
create index derived_event_log_position on derived_event_log (project_id, tx, id);
create index derived_event_log_age on derived_event_log (recorded_at);

-- The version before reads stored events alone. It may run beside this one, unless it never ran.
insert into run_format (kind, format)
  select 'derivedEventLog', case when exists (select from app_user) then 1 else 2 end;

reset lock_timeout;
