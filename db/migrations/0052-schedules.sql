-- Workflows that are started by a schedule.
alter table workflow drop constraint workflow_trigger_type_check;
alter table workflow add constraint workflow_trigger_type_check
  check (trigger_type in ('EVENT', 'MANUAL', 'SCHEDULE')) not valid;
alter table workflow add column trigger_schedule jsonb;
comment on column workflow.trigger_schedule is
  'Of the trigger SCHEDULE: {cron, timeZone, segmentId, filter}, as far as they are given; else null.';

-- What Temporal is told of a schedule. The row outlives its workflow until Temporal has deleted it.
create table workflow_schedule (
  workflow_id uuid primary key,
  project_id uuid not null,
  -- The earliest planned time that is not listed in firing yet.
  next_at timestamptz(3) not null,
  -- Temporal knows the planned times up to this one; null: it has no schedule.
  told_until timestamptz(3),
  -- When the sweep must look at it: a firing is late, or more times are to be told; null: never.
  look_at timestamptz(3) default now()
);
comment on table workflow_schedule is 'What Temporal is told of the schedules of workflows.';
create index workflow_schedule_look on workflow_schedule (look_at) where look_at is not null;
create index workflow_schedule_project on workflow_schedule (project_id);

-- The last firings of each workflow.
create table firing (
  workflow_id uuid not null references workflow on delete cascade,
  -- The planned time.
  at timestamptz(3) not null,
  project_id uuid not null,
  status text not null check (status in ('RUNNING', 'COMPLETED', 'MISSED', 'OVERLAPPED', 'STOPPED')),
  matched integer not null default 0,
  started integer not null default 0,
  started_at timestamptz(3),
  completed_at timestamptz(3),
  -- Whom it starts for: segmentId and filter of the trigger as it began.
  audience jsonb not null default '{}',
  -- The last contact it has looked at: contacts come in the order of their creation.
  after_created_at timestamptz(3),
  after_id uuid,
  primary key (workflow_id, at)
);
comment on table firing is 'The last firings of the schedules of workflows.';
create unique index firing_running on firing (workflow_id) where status = 'RUNNING';
