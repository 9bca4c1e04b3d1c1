-- Events counted as they come, and what the activity feed and the analytics read: each kind of
-- activity by its own time, newest first.

-- How many events of a name a project has on a UTC day: the sum of the rows of that key. Every
-- statement that changes events appends what it changed, so nobody waits for a counter that
-- somebody else holds; the sweep folds the fresh rows of a key into one.
create table event_tally (
  project_id uuid not null,
  name text not null,
  day date not null,
  count bigint not null,
  fresh boolean not null default true
);
create index event_tally_key on event_tally (project_id, name, day) include (count);
create index event_tally_fresh on event_tally (project_id, name, day) where fresh;

insert into event_tally (project_id, name, day, count, fresh)
  select project_id, name, (created_at at time zone 'UTC')::date, count(*), false
    from event group by 1, 2, 3;

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

-- Counting the contacts of a name reads this index alone; equal entries share their space.
create index event_name_contact on event (project_id, name, contact_id);
-- Names the system does not keep for itself: see `isReservedEvent` in domain/workflow/event-names.ts.
create index event_tracked on event (project_id, created_at desc, id desc)
  where name !~ '^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$';

create index email_sent on email (project_id, sent_at desc, id desc)
  where sent_at is not null and status <> 'FAILED' and source_type <> 'INBOUND';
create index email_delivered on email (project_id, delivered_at desc, id desc)
  where delivered_at is not null;
create index email_opened on email (project_id, opened_at desc, id desc)
  where opened_at is not null;
create index email_clicked on email (project_id, clicked_at desc, id desc)
  where clicked_at is not null;
create index email_bounced on email (project_id, bounced_at desc, id desc)
  where bounced_at is not null;
create index email_complained on email (project_id, complained_at desc, id desc)
  where complained_at is not null;
create index email_inbound on email (project_id, created_at desc, id desc)
  where source_type = 'INBOUND';

create index campaign_sent on campaign (project_id, sent_at desc, id desc)
  where sent_at is not null;
create index campaign_scheduled on campaign (project_id, scheduled_for, id)
  where status = 'SCHEDULED';

-- By the millisecond the API shows, not by the microsecond that is stored: executions of one
-- millisecond are ordered by id, like all else in the feed.
drop index execution_project;
create index execution_started on execution
  (project_id, date_trunc('milliseconds', started_at at time zone 'UTC') desc, id desc);
create index execution_completed on execution (project_id, completed_at desc, id desc)
  where completed_at is not null;

-- Without the status, which changes: updates of a step execution then need not touch the index.
create index step_execution_scheduled on step_execution (project_id, scheduled_for, id)
  where scheduled_for is not null;
create index wait_expires on wait (project_id, expires_at, step_execution_id)
  where expires_at is not null and event_id is null;
