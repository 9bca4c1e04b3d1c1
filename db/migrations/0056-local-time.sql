-- Campaigns that reach each contact at a local time of its zone.
alter table campaign
  -- As it was sent; null: all at once.
  add column local_time text,
  -- What becomes of those whose moment was before the first one that lay ahead.
  add column late text check (late in ('send', 'skip')),
  -- The earliest moment, as the call that set the local time has made it: that is scheduled_for, too.
  add column first_moment timestamptz(3),
  -- {timeZone, contactTimeZoneField} by which the moments are made; set when it begins to send.
  add column zone_policy jsonb,
  -- The last contact whose message has its moment: the same as frozen_to_id.
  add column moments_to_id uuid;
comment on column campaign.local_time is 'The wall time, in the zone of each contact, for which it was asked; null: all at once.';
comment on column campaign.late is 'Whose moment was past when it began: send at once, or skip.';

-- A worker of the version before knows no moments: it can neither begin to send such a campaign nor insert
-- its messages. Both wait for a worker of this one.
alter table campaign add constraint campaign_moments check (local_time is null
  or (status in ('DRAFT', 'SCHEDULED', 'CANCELLED') or zone_policy is not null)
    and moments_to_id is not distinct from frozen_to_id) not valid;

-- Where an API of the version before gives a scheduled campaign another time, or sends it now, that takes
-- the place of the local time.
create function drop_local_time() returns trigger language plpgsql as $$
begin
  new.local_time := null;
  new.late := null;
  new.first_moment := null;
  return new;
end
$$;
create trigger campaign_rescheduled before update on campaign for each row
  when (new.local_time is not null and new.first_moment is distinct from new.scheduled_for)
  execute function drop_local_time();
