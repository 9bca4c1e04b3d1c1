-- Operators act on live executions: the row says what they want, and its run looks at it.

alter table execution
  -- Held singly by an operator; kept when it has ended.
  add column paused_at timestamptz(3),
  add column pause_reason text,
  -- Since when its next step is held back, by its own pause or by its workflow's.
  add column held_at timestamptz(3),
  -- The reason of an exit rule, while a step is at work: it exits when that step has ended.
  add column exit_pending text,
  -- The job that moves it to another version as soon as its step at work has ended.
  add column move_job_id text,
  -- The versions it was on before it was moved, oldest first; null: it never was.
  add column earlier_versions integer[];

alter table workflow
  -- Holds all its executions.
  add column paused_at timestamptz(3),
  -- As being drawn; those of an execution are in its version's graph.
  add column exit_rules jsonb not null default '[]';

-- That held executions of a workflow are to be released; deleted when they are.
create table workflow_release (
  workflow_id uuid primary key references workflow on delete cascade,
  project_id uuid not null
);
comment on table workflow_release is 'That the held executions of a workflow are to go on, since it is no longer paused.';

-- Which workflows have, or had in a version, an exit rule for an event.
create table exit_event (
  project_id uuid not null,
  event_name text not null,
  workflow_id uuid not null references workflow on delete cascade,
  primary key (project_id, event_name, workflow_id)
);
create index exit_event_workflow on exit_event (workflow_id);
comment on table exit_event is 'Which workflows have, or had in a version, an exit rule for an event.';

alter table job
  -- Of jobs on the executions of a workflow.
  add column workflow_id uuid,
  drop constraint job_kind_check,
  add constraint job_kind_check check (kind in ('import', 'bulk', 'migrate', 'move-waits', 'retry-all'));
