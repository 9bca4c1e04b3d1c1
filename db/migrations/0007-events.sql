-- Events of contacts and their counts.

-- Event subscriptions find new events by transaction ids, and another PostgreSQL cluster counts
-- these from the beginning. So the log has its own ids: the cluster's transaction ids plus
-- `log_offset` of `database_cluster`. When the tables are moved to another cluster, for example by
-- a dump, these functions are replaced: see db/subscriptions/cluster.ts.
create function log_tx() returns xid8 language sql stable as 'select pg_current_xact_id()';

create function log_snapshot() returns pg_snapshot language sql stable as 'select pg_current_snapshot()';

-- Returns a snapshot with all its transaction ids increased by `distance`.
create function moved_snapshot(given pg_snapshot, distance bigint) returns pg_snapshot
  language sql immutable as $$
  select (pg_snapshot_xmin(given)::text::bigint + distance || ':'
    || pg_snapshot_xmax(given)::text::bigint + distance || ':'
    || coalesce((select string_agg((xip::text::bigint + distance)::text, ',' order by xip)
      from pg_snapshot_xip(given) xip), ''))::pg_snapshot
$$;

create table database_cluster (
  is_only_row boolean primary key default true check (is_only_row),
  -- From pg_control_system(); null: the database role may not read it.
  system_identifier text,
  -- The object ids of the database and of the table `event`. A restored dump has other ids; a
  -- physical copy has the same.
  objects text,
  -- From pg_control_checkpoint(); null: the database role may not read it.
  timeline integer,
  log_offset bigint not null default 0,
  -- When the cluster was last confirmed to be the same.
  confirmed_at timestamptz not null default now()
);
comment on table database_cluster is 'The database cluster of the tables, by which a restore into '
  'another cluster is noticed.';

insert into database_cluster default values;

create table event (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  contact_id uuid references contact on delete cascade,
  email_id uuid,
  name text not null,
  data jsonb,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- The time inside the transaction, after the contact was locked, to the microsecond. So the
  -- events of one contact have an order.
  recorded_at timestamptz not null default clock_timestamp(),
  -- The transaction that recorded the event. A subscription stores the snapshot up to which it has
  -- read, and an event is new if its transaction is not in this snapshot, even if it committed
  -- late. Null: the event was derived from mail and stored later.
  tx xid8 default log_tx()
);
comment on table event is 'Events of contacts. Except for their deletion, rows never change.';
comment on column event.tx is 'The transaction that recorded the event, by which subscriptions '
  'find new events; null: no subscription must find it.';
create index event_page on event (project_id, created_at desc, id desc);
create index event_name on event (project_id, name, created_at desc, id desc);
create index event_contact on event (contact_id, name, recorded_at);
-- Counting the contacts that have an event name reads only this index. PostgreSQL stores equal
-- entries once.
create index event_name_contact on event (project_id, name, contact_id);
-- Leaves out most reserved names (`isReservedEvent` in domain/event-names.ts). Queries exclude the
-- others.
create index event_tracked on event (project_id, created_at desc, id desc)
  where name !~ '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$';
create index event_log on event (project_id, tx) where tx is not null;

-- The number of events with a name on a UTC day is the sum of the rows with this key. Each
-- statement that changes events adds a row, so no statement waits for a counter that another one
-- has locked. The sweep merges the new rows of a key into one.
create table event_tally (
  project_id uuid not null,
  name text not null,
  day date not null,
  count bigint not null,
  fresh boolean not null default true
);
comment on table event_tally is 'Number of events of a name on a UTC day. Statements add rows, '
  'and the sweep merges them.';
create index event_tally_key on event_tally (project_id, name, day) include (count);
create index event_tally_fresh on event_tally (project_id, name, day) where fresh;

create function tally_events() returns trigger language plpgsql as $$
begin
  if tg_op <> 'DELETE' then
    insert into event_tally (project_id, name, day, count)
      select project_id, name, (created_at at time zone 'UTC')::date, count(*)
        from added group by 1, 2, 3;
  end if;
  if tg_op <> 'INSERT' then
    insert into event_tally (project_id, name, day, count)
      select project_id, name, (created_at at time zone 'UTC')::date, -count(*)
        from removed group by 1, 2, 3;
  end if;
  return null;
end
$$;

-- A trigger counts events, because they are also deleted with their contact.
create trigger event_tally_insert after insert on event
  referencing new table as added for each statement execute function tally_events();

create trigger event_tally_update after update on event
  referencing old table as removed new table as added
  for each statement execute function tally_events();

create trigger event_tally_delete after delete on event
  referencing old table as removed for each statement execute function tally_events();

-- Campaign mail whose derived events subscriptions must read: a row for each batch that was given
-- to the mail provider. Subscriptions read it by position, like events (`event.tx`).
create table derived_event_log (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  tx xid8 not null default log_tx(),
  email_ids uuid[] not null,
  recorded_at timestamptz not null default clock_timestamp()
);
comment on table derived_event_log is 'Batches of campaign mail whose derived events '
  'subscriptions must read, kept for 31 days.';
create index derived_event_log_position on derived_event_log (project_id, tx, id);
create index derived_event_log_age on derived_event_log (recorded_at);
