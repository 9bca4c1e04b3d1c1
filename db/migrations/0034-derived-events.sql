-- The events of a campaign's message that are not stored, because its row says the same: the sum of
-- 1 (email.sent) and 2 (email.delivery).
alter table email add column derived_events smallint not null default 0;

-- They are counted like others. When they are recorded, the same statement counts them.
create function tally_derived_events() returns trigger language plpgsql as $$
begin
  insert into event_tally (project_id, name, day, count)
    select project_id, 'email.sent', (sent_at at time zone 'UTC')::date, -count(*)
      from removed where derived_events & 1 <> 0 group by 1, 3
    union all
    select project_id, 'email.delivery', (delivered_at at time zone 'UTC')::date, -count(*)
      from removed where derived_events & 2 <> 0 group by 1, 3;
  return null;
end
$$;
-- A trigger, because mail also goes with its contact.
create trigger email_derived_events after delete on email
  referencing old table as removed for each statement execute function tally_derived_events();

-- The version before reads stored events alone. It may run beside this one, unless it never ran.
insert into run_format (kind, format)
  select 'campaignEvents', case when exists (select from app_user) then 1 else 2 end;
comment on table run_format is
  'The format in which new runs of a kind begin, and in which the events of campaign mail are kept.';
