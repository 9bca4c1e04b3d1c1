-- When a project's marketing mail may reach its contacts. A project without a row has the defaults, which
-- hold nothing back.
create table send_policy (
  project_id uuid not null primary key,
  time_zone text not null default 'UTC',
  -- Where the contact's own zone stands, as data.<path>; null: everybody is in the project's.
  contact_time_zone_field text default 'data.timeZone',
  -- {from, to, days}; null: none.
  quiet_hours jsonb,
  -- [{max, perDays}]
  caps jsonb not null default '[]',
  on_cap text not null default 'skip' check (on_cap in ('skip', 'delay')),
  updated_at timestamptz(3) not null default now(),
  -- Mail that was held until then is still to be made due, because the policy has changed.
  released_to timestamptz(3)
);
comment on table send_policy is 'Quiet hours and frequency caps of a project; without a row there are none.';
create index send_policy_released on send_policy (project_id) where released_to is not null;

-- Hand-overs of a campaign in a minute; null: as fast as the limits of its project allow.
alter table campaign add column max_per_minute integer
  check (max_per_minute between 1 and 1000000);
comment on column campaign.max_per_minute is 'Messages handed over in a minute at most; null: no limit of its own.';
