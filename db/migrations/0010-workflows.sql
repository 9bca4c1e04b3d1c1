-- Customers' workflows: their graphs as edited, and their versions.

create table workflow (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  enabled boolean not null default false,
  trigger_type text not null default 'EVENT'
      check (trigger_type in ('EVENT', 'MANUAL', 'SCHEDULE')),
  trigger_event_name text,
  -- Conditions on the triggering event; null: none.
  trigger_where jsonb,
  -- Path to the key in the data of the starting event. A contact can have one active execution for
  -- each key; null: the workflow has no keys.
  execution_key text,
  reentry_mode text not null default 'once'
      check (reentry_mode in ('once', 'after_end', 'parallel')),
  -- Minimum seconds between two starts with the same contact and key; null: no minimum.
  reentry_min_interval integer check (reentry_min_interval > 0),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- When the workflow was paused; all its executions are held since. Null: it is not paused.
  paused_at timestamptz(3),
  -- The exit rules as last edited. Executions use the rules in the graph of their version.
  exit_rules jsonb not null default '[]',
  trigger_schedule jsonb,
  -- {eventName, valueField?, windowDays, touch}; null: the workflow has no goal. Versions do not
  -- contain the goal.
  goal jsonb,
  -- The key that names the workflow in files for version control; null until the first export.
  file_key text collate "C",
  check (reentry_mode <> 'once' or reentry_min_interval is null),
  check (execution_key is null or reentry_mode <> 'parallel')
);
comment on table workflow is 'A customer''s workflow: name, trigger, state.';
comment on column workflow.trigger_schedule is 'The settings of a SCHEDULE trigger: those of {cron, timeZone, segmentId, filter} that are given; null for other triggers.';
create index workflow_page on workflow (project_id, created_at desc, id desc);
-- Partial: see segment_file_key.
create unique index workflow_file_key on workflow (project_id, file_key) where file_key is not null;
create index workflow_keyless on workflow (project_id, created_at, id) where file_key is null;
create index workflow_trigger on workflow (project_id, trigger_event_name)
  where enabled and trigger_type = 'EVENT';

create trigger workflow_removal after delete on workflow
  for each row execute function note_removal();

create table workflow_step (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null references workflow on delete cascade,
  type text not null,
  name text not null,
  position_x double precision not null,
  position_y double precision not null,
  config jsonb not null default '{}',
  template_id uuid references template,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  key text not null
);
comment on table workflow_step is 'The steps of a workflow as currently edited.';
comment on column workflow_step.key is 'The key of the step in the portable graph of its workflow.';
create unique index workflow_step_one_trigger on workflow_step (workflow_id) where type = 'TRIGGER';
create index workflow_step_workflow on workflow_step (workflow_id, created_at, id);
create index workflow_step_template on workflow_step (template_id) where template_id is not null;
create unique index workflow_step_key on workflow_step (workflow_id, key);
create index workflow_step_secret on workflow_step (project_id, id)
  where config::text like '%secret.%';
create index workflow_step_topic on workflow_step (project_id, (config ->> 'topicId'))
  where config ->> 'topicId' is not null;

create table workflow_transition (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null references workflow on delete cascade,
  from_step_id uuid not null references workflow_step on delete cascade,
  to_step_id uuid not null references workflow_step on delete cascade,
  branch text,
  wait_outcome text check (wait_outcome in ('EVENT', 'TIMEOUT')),
  priority integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (from_step_id <> to_step_id)
);
comment on table workflow_transition is 'The transitions between the steps of a workflow as '
  'currently edited.';
create unique index workflow_transition_one_way on workflow_transition (from_step_id, coalesce(branch, ''));
create index workflow_transition_to on workflow_transition (to_step_id);
create index workflow_transition_workflow on workflow_transition (workflow_id, created_at, id);

-- Every version of a workflow. A row is written by the edit that made the version, and never
-- changed.
create table workflow_version (
  workflow_id uuid not null,
  version integer not null,
  project_id uuid not null,
  -- The whole graph; null: `difference` has the differences from the graph of version `base`, which
  -- is stored whole.
  graph jsonb,
  base integer,
  difference jsonb,
  -- The actor that made the version, as `actorOf` writes actors; null: not known.
  caused_by text,
  restored_from integer,
  -- Changes from the previous version, in words: at most 100 of {kind, stepId, name, text}.
  changes jsonb not null default '[]',
  created_at timestamptz(3) not null default now(),
  primary key (workflow_id, version),
  check (num_nulls(graph, base) = 1 and num_nulls(base, difference) in (0, 2))
);
comment on table workflow_version is 'The versions of a workflow, each with its graph. Rows never '
  'change.';

-- The graph of each version: `whole`, changed by `difference`. `difference` is null for a graph
-- that is stored whole. See domain/workflow/versions/difference.ts.
create view workflow_graph as
  select stored.workflow_id, stored.version, coalesce(stored.graph, base.graph) as whole,
      stored.difference
    from workflow_version stored
    left join workflow_version base
      on base.workflow_id = stored.workflow_id and base.version = stored.base;
comment on view workflow_graph is 'The graph of each version, stored whole or as a difference.';

create function graph_steps(whole jsonb, difference jsonb) returns setof jsonb
  language sql immutable parallel safe as $$
  select coalesce(changed.value, step.value)
    from jsonb_array_elements(whole -> 'steps') step
    full join jsonb_each(difference -> 'steps') changed on changed.key = step.value ->> 'id'
    where changed.value is distinct from 'null'
$$;

-- Returns one step of a graph; null: the graph has no such step.
create function graph_step(whole jsonb, difference jsonb, step_id uuid) returns jsonb
  language sql immutable parallel safe as $$
  select case
    when difference -> 'steps' ? step_id::text
      then nullif(difference -> 'steps' -> step_id::text, 'null')
    else jsonb_path_query_first(whole, '$.steps[*] ? (@.id == $id)', jsonb_build_object('id', step_id))
  end
$$;

create table exit_event (
  project_id uuid not null,
  event_name text not null,
  workflow_id uuid not null references workflow on delete cascade,
  primary key (project_id, event_name, workflow_id)
);
comment on table exit_event is 'Events that an exit rule of a workflow uses, in any of its '
  'versions.';
create index exit_event_workflow on exit_event (workflow_id);

-- Requests to cancel all executions of a workflow that began before `until`. A row is deleted when
-- all of them are cancelled.
create table workflow_cancellation (
  workflow_id uuid primary key references workflow on delete cascade,
  project_id uuid not null,
  -- To the microsecond, because it is compared with execution.started_at.
  until timestamptz not null
);
comment on table workflow_cancellation is 'Requests to cancel all executions of a workflow that began before a moment.';

-- Requests to release the held executions of a workflow. A row is deleted when all are released.
create table workflow_release (
  workflow_id uuid primary key references workflow on delete cascade,
  project_id uuid not null
);
comment on table workflow_release is 'Requests to release the held executions of a workflow that is no longer paused.';

-- The schedules that exist in Temporal. A row outlives its workflow until Temporal has deleted the
-- schedule.
create table workflow_schedule (
  workflow_id uuid primary key,
  project_id uuid not null,
  -- The earliest planned time that has no row in `firing` yet.
  next_at timestamptz(3) not null,
  -- Temporal has all planned times up to this one; null: no schedule exists there.
  planned_until timestamptz(3),
  -- When the sweep must check the schedule: a firing is late, or Temporal needs more planned times;
  -- null: never.
  next_reconcile_at timestamptz(3) default now(),
  -- Increases with each change of the workflow or project. The result of a Temporal update that was
  -- prepared before the change is then not recorded.
  revision integer not null default 1
);
comment on table workflow_schedule is 'The schedules of workflows as Temporal has them.';
create index workflow_schedule_reconcile on workflow_schedule (next_reconcile_at) where next_reconcile_at is not null;
create index workflow_schedule_project on workflow_schedule (project_id);

create table firing (
  workflow_id uuid not null references workflow on delete cascade,
  -- The planned time of the firing.
  at timestamptz(3) not null,
  project_id uuid not null,
  status text not null check (status in ('RUNNING', 'COMPLETED', 'MISSED', 'OVERLAPPED', 'STOPPED')),
  matched integer not null default 0,
  started integer not null default 0,
  started_at timestamptz(3),
  completed_at timestamptz(3),
  -- The segmentId and filter of the trigger when the firing began: they select its audience.
  audience jsonb not null default '{}',
  -- The last contact that was checked. Contacts are read in the order of their creation.
  after_created_at timestamptz(3),
  after_id uuid,
  primary key (workflow_id, at)
);
comment on table firing is 'The last firings of the schedules of workflows.';
create unique index firing_running on firing (workflow_id) where status = 'RUNNING';
