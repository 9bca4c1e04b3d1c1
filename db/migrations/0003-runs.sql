-- Campaigns, what mail went through, and one outbox for every run that is a function of its row.

-- Runs of Temporal that must hear of a committed change: they are started, or told to look at
-- their row again. One row for each run; it goes when Temporal has been told.
create table run_wake (
  run_id text primary key,
  -- None: mail of the platform to a user.
  project_id uuid,
  kind text not null,
  input jsonb not null,
  summary text not null,
  -- Counts requests: what was asked for while Temporal was being told is told again.
  requests integer not null default 1,
  dispatch_at timestamptz(3) not null default now() + interval '5 seconds'
);
create index run_wake_dispatch on run_wake (dispatch_at);

drop index job_dispatch;
alter table job drop column dispatch, drop column dispatch_at;

create table campaign (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  from_email text not null,
  from_name text,
  reply_to text,
  template_id uuid references template on delete set null,
  audience_type text not null check (audience_type in ('ALL', 'SEGMENT', 'FILTERED')),
  segment_id uuid references segment on delete set null,
  audience_condition jsonb,
  message_class text not null check (message_class in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  status text not null default 'DRAFT'
    check (status in ('DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED', 'SENT', 'CANCELLED')),
  paused_reason text check (paused_reason in ('requested', 'provider_failures')),
  archived boolean not null default false,
  scheduled_for timestamptz(3),
  -- When the audience was fixed: contacts made later are not in it.
  frozen_at timestamptz(3),
  sent_at timestamptz(3),
  total_recipients integer not null default 0,
  sent_count integer not null default 0,
  delivered_count integer not null default 0,
  opened_count integer not null default 0,
  clicked_count integer not null default 0,
  bounced_count integer not null default 0,
  complained_count integer not null default 0,
  unsubscribed_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'PAUSED') = (paused_reason is not null))
);
create index campaign_page on campaign (project_id, created_at desc, id desc);
create index campaign_segment on campaign (segment_id) where segment_id is not null;
create index campaign_template on campaign (template_id) where template_id is not null;

-- What a message went through after it was queued, in order: see `trace_entry`.
alter table email add column trace jsonb not null default '[]';
-- When the contact opted out through a link of this message.
alter table email add column unsubscribed_at timestamptz(3);

-- One entry of a message's trace, to be appended: `trace || trace_entry('accepted', …)`.
create function trace_entry(state text, detail jsonb default null) returns jsonb
  language sql as $$
  select jsonb_build_array(jsonb_build_object(
    'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'state', state, 'detail', detail))
$$;
