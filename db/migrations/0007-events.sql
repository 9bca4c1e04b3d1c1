-- Events of contacts and their counts.

-- Event subscriptions find new events by the numbers of transactions, which begin anew in another cluster. The log
-- continues with numbers of its own: those of the cluster, plus `log_offset` of `database_cluster`. When the tables
-- come into another cluster, as by a dump, these functions are replaced: see db/subscriptions/cluster.ts.
create function log_tx() returns xid8 language sql stable as 'select pg_current_xact_id()';

create function log_snapshot() returns pg_snapshot language sql stable as 'select pg_current_snapshot()';

-- The same snapshot with other numbers.
create function moved_snapshot(given pg_snapshot, distance bigint) returns pg_snapshot
  language sql immutable as $$
  select (pg_snapshot_xmin(given)::text::bigint + distance || ':'
    || pg_snapshot_xmax(given)::text::bigint + distance || ':'
    || coalesce((select string_agg((xip::text::bigint + distance)::text, ',' order by xip)
      from pg_snapshot_xip(given) xip), ''))::pg_snapshot
$$;

create table database_cluster (
  is_only_row boolean primary key default true check (is_only_row),
  -- From pg_control_system(); null: it may not be read.
  system_identifier text,
  -- The numbers of the database and of the table `event`: a restored dump has others, a physical copy the same.
  objects text,
  log_offset bigint not null default 0,
  -- When it was last seen to be the same.
  confirmed_at timestamptz not null default now()
);
comment on table database_cluster is 'The cluster that holds the tables, to notice when a dump was restored into another.';

insert into database_cluster default values;

create table event (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  contact_id uuid references contact on delete cascade,
  email_id uuid,
  name text not null,
  data jsonb,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- The moment inside the transaction, after the contact was locked, to the microsecond:
  -- events of one contact have an order, and "recorded after" means what it says.
  recorded_at timestamptz not null default clock_timestamp(),
  -- The transaction that has recorded an event. With the snapshot up to which a subscription has read
  -- the events, it tells which ones are new: however late a transaction commits, it is in no snapshot
  -- before. Null: derived from mail and stored later.
  tx xid8 default log_tx()
);
comment on table event is 'What happened to a contact; never changed.';
comment on column event.tx is 'The transaction that has recorded it, by which subscriptions find new events; null: no subscription has to.';
create index event_page on event (project_id, created_at desc, id desc);
create index event_name on event (project_id, name, created_at desc, id desc);
create index event_contact on event (contact_id, name, recorded_at);
-- Counting the contacts of a name reads this index alone; equal entries share their space.
create index event_name_contact on event (project_id, name, contact_id);
-- Names the system does not keep for itself: see `isReservedEvent` in domain/event-names.ts.
create index event_tracked on event (project_id, created_at desc, id desc)
  where name !~ '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$';
create index event_log on event (project_id, tx) where tx is not null;

-- How many events of a name a project has on a UTC day: the sum of the rows of that key. Every
-- statement that changes events appends its change, so no statement waits for a counter that
-- another one has locked; the sweep folds the fresh rows of a key into one.
create table event_tally (
  project_id uuid not null,
  name text not null,
  day date not null,
  count bigint not null,
  fresh boolean not null default true
);
comment on table event_tally is 'How many events of a name there were on a day; appended to, folded by the sweep.';
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

-- A trigger, because events also go with their contact.
create trigger event_tally_insert after insert on event
  referencing new table as added for each statement execute function tally_events();

create trigger event_tally_update after update on event
  referencing old table as removed new table as added
  for each statement execute function tally_events();

create trigger event_tally_delete after delete on event
  referencing old table as removed for each statement execute function tally_events();

-- Mail of campaigns whose derived events subscriptions are to be told of: a row for each batch that was
-- handed over. Read by position, as events are (`event.tx`).
create table derived_event_log (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  tx xid8 not null default log_tx(),
  email_ids uuid[] not null,
  recorded_at timestamptz not null default clock_timestamp()
);
comment on table derived_event_log is 'Mail of campaigns whose events subscriptions read from its rows, for 31 days.';
create index derived_event_log_position on derived_event_log (project_id, tx, id);
create index derived_event_log_age on derived_event_log (recorded_at);
