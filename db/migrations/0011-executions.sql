-- Executions of workflows: each is one contact's pass through one version.

create table execution (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null,
  workflow_version integer not null,
  workflow_name text not null,
  contact_id uuid not null references contact on delete cascade,
  status text not null default 'RUNNING'
      check (status in ('RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED')),
  current_step_id uuid,
  exit_reason text,
  error text,
  context jsonb,
  -- The event that started the execution; null: none.
  starting_event_id uuid,
  temporal_run_id text,
  -- Every change of status, and other actions (see `historyWith`): [{at, from, to, detail}], oldest
  -- first. A trigger adds the changes of status.
  history jsonb not null default '[]',
  -- To the microsecond, because it is compared with event.recorded_at.
  started_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Number of times the run was started: 1 for the first start; each retry or restart adds one.
  start_generation integer not null default 1,
  -- When the sweep checks that the execution's run is not lost.
  next_reconcile_at timestamptz(3) default now() + interval '5 minutes',
  -- When the execution's run became unable to continue, and why.
  stuck_since timestamptz(3),
  stuck_reason text,
  -- Position in a chain of executions in which each started the next by an event; 0: the first. The
  -- position is limited, because otherwise workflows that start each other would never end.
  depth smallint not null default 0,
  -- When an operator paused this execution (kept after its end); null: no operator did.
  paused_at timestamptz(3),
  pause_reason text,
  -- Since when the next step is held, by a pause of the execution or of its workflow.
  held_at timestamptz(3),
  -- Set if an exit rule was met while a step was running: the reason with which the execution exits
  -- when the step has ended.
  exit_pending text,
  -- The job that moves the execution to another version as soon as its running step has ended.
  move_job_id text,
  -- The versions that the execution was on before it was moved, oldest first; null: it was never
  -- moved.
  earlier_versions integer[],
  -- Number of completed steps with `success: false`, for example failed webhooks after which the
  -- execution continued.
  warnings integer not null default 0,
  -- The key of the execution: executions of one contact and workflow with different keys may run at
  -- the same time. Null: it was started without a key.
  key text,
  -- Active executions of a contact and workflow have different slots: the key of the execution, ''
  -- without a key, or a unique text in workflows with parallel executions. Null: the execution does
  -- not prevent another one, because its digest has closed.
  slot text default '',
  -- The actor that recorded the starting event or started the execution by hand. In a chain of
  -- executions, it is the actor of the first one.
  caused_by text,
  foreign key (workflow_id, workflow_version) references workflow_version
);
comment on table execution is 'Executions: each is one contact''s pass through one version of a '
  'workflow. The Temporal workflow is execution-<id>.';
create unique index execution_one_active on execution (workflow_id, contact_id, slot)
  where status in ('RUNNING', 'WAITING');
create index execution_page on execution (workflow_id, started_at desc, id desc);
create index execution_status on execution (workflow_id, status, started_at desc, id desc);
create index execution_contact on execution (contact_id, workflow_id, started_at);
create index execution_started on execution
  (project_id, date_trunc('milliseconds', started_at at time zone 'UTC') desc, id desc);
create index execution_completed on execution (project_id, completed_at desc, id desc)
  where completed_at is not null;
create index execution_reconcile on execution (next_reconcile_at) where status in ('RUNNING', 'WAITING');
create index execution_stuck on execution (stuck_since)
  where stuck_since is not null and status in ('RUNNING', 'WAITING');
create index execution_position
  on execution (workflow_id, workflow_version, current_step_id, id)
  where status in ('RUNNING', 'WAITING');
create index execution_paused on execution (workflow_id, started_at desc, id desc)
  where paused_at is not null;
create index execution_held on execution (workflow_id, id)
  where held_at is not null and status in ('RUNNING', 'WAITING');
create index execution_moving on execution (move_job_id, id)
  where move_job_id is not null;
create index execution_warned on execution (workflow_id, started_at desc, id desc)
  where warnings > 0;
create index execution_contact_key on execution (contact_id, workflow_id, key, started_at)
  where key is not null;
create index execution_key on execution (workflow_id, key, started_at desc, id desc)
  where key is not null;
create index execution_stuck_page
  on execution (workflow_id, started_at desc, id desc)
  where stuck_since is not null and status in ('RUNNING', 'WAITING');

create trigger execution_history before insert or update of status on execution
  for each row execute function note_status();

-- Events that matched the trigger of a workflow, but started no execution. Rows are kept for 30 days.
create table not_started (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  event_name text not null,
  reason text not null check (reason in ('no_key', 'key_too_long', 'too_many')),
  -- When the event happened.
  at timestamptz(3) not null
);
comment on table not_started is 'Events that started no execution of a workflow, with the reason.';
create index not_started_contact on not_started (contact_id, at desc, id desc);
create index not_started_workflow on not_started (workflow_id, at);
create index not_started_expired on not_started (at);

create table step_execution (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  execution_id uuid not null references execution on delete cascade,
  step_id uuid not null,
  status text not null
      check (status in ('PENDING', 'SCHEDULED', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'SKIPPED')),
  scheduled_for timestamptz(3),
  execute_after timestamptz(3),
  output jsonb,
  error text,
  -- Number of attempts of a webhook so far.
  attempts integer not null default 0,
  history jsonb not null default '[]',
  started_at timestamptz(3),
  -- To the microsecond, because the next step begins at this time and looks for later events.
  completed_at timestamptz,
  -- The event that ended a wait, and the time when it was recorded or the wait timed out
  -- (`settled_at`). The run may be informed later, but the next wait looks for events from
  -- `settled_at` on.
  ending_event_id uuid,
  settled_at timestamptz,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  unique (execution_id, step_id)
);
comment on table step_execution is 'Step executions: one for each step of an execution.';
-- The index has no status, so that a change of the status need not change the index.
create index step_execution_scheduled on step_execution (project_id, scheduled_for, id)
  where scheduled_for is not null;

create trigger step_execution_history before insert or update of status on step_execution
  for each row execute function note_status();

create function count_warning() returns trigger language plpgsql as $$
begin
  update execution set warnings = warnings + 1 where id = new.execution_id;
  return null;
end
$$;

create trigger step_execution_warning after update of status on step_execution
  for each row
  when (new.status = 'COMPLETED' and old.status <> 'COMPLETED'
    and new.output ->> 'success' = 'false')
  execute function count_warning();

-- Waits of executions for an event. If `event_id` is set, that event has ended the wait, and the
-- run must be signalled.
create table wait (
  step_execution_id uuid primary key references step_execution on delete cascade,
  project_id uuid not null,
  execution_id uuid not null references execution on delete cascade,
  contact_id uuid not null references contact on delete cascade,
  event_name text not null,
  -- When the wait times out: later events do not end it. Null: the wait has no timeout.
  expires_at timestamptz(3),
  event_id uuid,
  -- The conditions on the event, with the values that they had when the wait began; null: none.
  conditions jsonb,
  -- Values that the data of the event must have to meet the conditions (`requiredData`); null:
  -- none.
  required_data jsonb,
  -- The settings of a DIGEST (`StoredDigest`), which collects events until it closes. Null: the
  -- first matching event ends the wait.
  digest jsonb,
  -- Number of events that the DIGEST has collected.
  digest_count integer not null default 0,
  created_at timestamptz(3) not null default clock_timestamp()
);
comment on table wait is 'Waits: steps that wait for an event, or collect events.';
create index wait_execution on wait (execution_id);
create index wait_expires on wait (project_id, expires_at, step_execution_id)
  where expires_at is not null and event_id is null;
create index wait_contact on wait (contact_id, event_name);

-- Events that digests have collected. The rows stay when a digest closes, because an execution that
-- later reads past events must not collect the same events again.
create table digest_event (
  project_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  -- Id of an event, stored or derived from mail.
  event_id uuid not null,
  step_id uuid not null,
  step_execution_id uuid not null references step_execution on delete cascade,
  -- When the event was recorded.
  recorded_at timestamptz not null,
  -- If several executions of a contact are at a digest step, only one can collect an event.
  primary key (contact_id, event_id, step_id)
);
comment on table digest_event is 'Events that digests (steps of type DIGEST) have collected.';
create index digest_event_order on digest_event (step_execution_id, recorded_at, event_id);

-- When a row of an active execution is deleted (with its contact, workflow or project), its
-- Temporal workflow must be cancelled. A trigger does this, because foreign keys delete the row.
create function cancel_orphan_run() returns trigger language plpgsql as $$
begin
  insert into outbox (run_id, project_id, kind, action)
    values ('execution-' || old.id, old.project_id, 'customerWorkflow', 'cancel')
    on conflict (run_id) do update set action = 'cancel', generation = outbox.generation + 1,
      due_at = excluded.due_at;
  return null;
end
$$;

create trigger execution_orphan_run after delete on execution for each row
  when (old.status in ('RUNNING', 'WAITING'))
  execute function cancel_orphan_run();
