-- The queue of a campaign: its waiting messages, up to 50 at a time. A message is handed over by
-- whoever has claimed its chunk; a chunk is deleted when its messages have their outcomes.
create table campaign_chunk (
  campaign_id uuid not null,
  number bigint generated always as identity,
  project_id uuid not null,
  email_ids uuid[] not null,
  due_at timestamptz(3) not null default now(),
  -- Set while it is claimed.
  attempt_id uuid,
  claimed_at timestamptz(3),
  lease_until timestamptz(3),
  primary key (campaign_id, number),
  check ((attempt_id is null) = (claimed_at is null)),
  check ((attempt_id is null) = (lease_until is null))
);
create index campaign_chunk_due on campaign_chunk (campaign_id, due_at, number)
  where attempt_id is null;
create index campaign_chunk_claimed on campaign_chunk (project_id) where attempt_id is not null;
create index campaign_chunk_lease on campaign_chunk (lease_until) where attempt_id is not null;
create index campaign_chunk_project on campaign_chunk (project_id);

-- When a campaign's message was claimed whose first attempt was accepted. Then `trace` does not
-- repeat what the columns say: handed over, accepted, delivered.
alter table email add column handed_over_at timestamptz(3);

comment on table campaign_chunk is 'The queue of a campaign: its waiting messages, up to 50 at a time.';
