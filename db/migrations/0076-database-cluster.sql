set lock_timeout = 1000;

-- Event subscriptions find new events by the numbers of transactions, which begin anew in another cluster. The log
-- goes on with numbers of its own: those of the cluster, plus `log_offset` of `database_cluster`. When the tables
-- come into another cluster, as by a dump, these functions are replaced: see db/subscriptions/cluster.ts.
create function log_tx() returns xid8 language sql stable as 'select pg_current_xact_id()';
create function log_snapshot() returns pg_snapshot language sql stable as 'select pg_current_snapshot()';

-- The same snapshot with other numbers.
create function moved_snapshot(given pg_snapshot, distance bigint) returns pg_snapshot
  language sql immutable as '
  select (pg_snapshot_xmin(given)::text::bigint + distance || '':''
    || pg_snapshot_xmax(given)::text::bigint + distance || '':''
    || coalesce((select string_agg((xip::text::bigint + distance)::text, '','' order by xip)
      from pg_snapshot_xip(given) xip), ''''))::pg_snapshot';

alter table event alter column tx set default log_tx();
alter table derived_event_log alter column tx set default log_tx();
alter table event_subscription alter column seen set default log_snapshot();

create table database_cluster (
  is_only_row boolean primary key default true check (is_only_row),
  -- Of pg_control_system(); null: that may not be read.
  system_identifier text,
  -- The numbers of the database and of the table `event`: a restored dump has others, a physical copy the same.
  objects text,
  log_offset bigint not null default 0,
  -- When it was last seen to be the same.
  confirmed_at timestamptz not null default now()
);
comment on table database_cluster is 'The cluster that holds the tables, to notice when a dump was restored into another.';
insert into database_cluster default values;

reset lock_timeout;
