-- One outbox for everything that Temporal must be told, instead of three mechanisms.

-- One row for each Temporal workflow that must be started, signalled or cancelled. Written in the
-- transaction of the cause; deleted when Temporal has been told.
create table outbox (
  -- Its workflow id.
  run_id text primary key,
  -- None: mail of the platform to a user.
  project_id uuid,
  -- Its workflow type.
  kind text not null,
  action text not null check (action in ('start', 'signal', 'cancel')),
  input jsonb not null default '{}',
  summary text not null default '',
  -- Counts requests. Starts at random: a row that was sent and deleted is not its successor.
  generation integer not null default (random() * 1000000000)::int,
  -- From when on any process may send it: the one that committed it goes first.
  due_at timestamptz(3) not null default now() + interval '5 seconds'
);
create index outbox_due on outbox (due_at);
comment on table outbox is 'Temporal workflows that must be started, signalled or cancelled.';

insert into outbox (run_id, project_id, kind, action, input, summary)
  select run_id, project_id, kind, 'signal', input, summary from run_wake;
insert into outbox (run_id, project_id, kind, action)
  select 'execution-' || id, project_id, 'customerWorkflow', dispatch from execution
    where dispatch is not null;
insert into outbox (run_id, project_id, kind, action)
  select 'execution-' || execution_id, project_id, 'customerWorkflow', 'cancel' from orphan_run
  on conflict do nothing;
insert into outbox (run_id, project_id, kind, action, input)
  select 'execution-' || wait.execution_id, wait.project_id, 'customerWorkflow', 'signal',
      jsonb_build_object('stepId', step_execution.step_id)
    from wait join step_execution on step_execution.id = wait.step_execution_id
    where wait.event_id is not null
  on conflict do nothing;

-- Until the version before is gone, its processes write what they must tell Temporal where they
-- always did. What they do not come to send is sent from the outbox.
create function copy_run_wake() returns trigger language plpgsql as $$
begin
  insert into outbox (run_id, project_id, kind, action, input, summary)
    values (new.run_id, new.project_id, new.kind, 'signal', new.input, new.summary)
    on conflict (run_id) do update set action = excluded.action, input = excluded.input,
      generation = outbox.generation + 1, due_at = excluded.due_at;
  return null;
end
$$;
create trigger run_wake_outbox after insert or update of requests on run_wake for each row
  execute function copy_run_wake();

create function copy_execution_dispatch() returns trigger language plpgsql as $$
begin
  insert into outbox (run_id, project_id, kind, action)
    values ('execution-' || new.id, new.project_id, 'customerWorkflow', new.dispatch)
    on conflict (run_id) do update set action = excluded.action, input = excluded.input,
      generation = outbox.generation + 1, due_at = excluded.due_at;
  return null;
end
$$;
create trigger execution_outbox_start after insert on execution for each row
  when (new.dispatch is not null) execute function copy_execution_dispatch();
create trigger execution_outbox_again after update of dispatch on execution for each row
  when (new.dispatch is not null) execute function copy_execution_dispatch();

create function copy_wait_claim() returns trigger language plpgsql as $$
begin
  insert into outbox (run_id, project_id, kind, action, input)
    select 'execution-' || new.execution_id, new.project_id, 'customerWorkflow', 'signal',
        jsonb_build_object('stepId', step_id)
      from step_execution where id = new.step_execution_id
    on conflict (run_id) do update set action = excluded.action, input = excluded.input,
      generation = outbox.generation + 1, due_at = excluded.due_at;
  return null;
end
$$;
create trigger wait_outbox after update of event_id on wait for each row
  when (new.dispatch_at is not null) execute function copy_wait_claim();

-- A claimed wait has no time of its own any more: its signal is in the outbox.
alter table wait drop constraint wait_check;

-- An execution that is deleted while it is active (with its contact, workflow or project) leaves a
-- Temporal workflow to be cancelled. By trigger, because foreign keys delete it.
create or replace function keep_orphan_run() returns trigger language plpgsql as $$
begin
  insert into outbox (run_id, project_id, kind, action)
    values ('execution-' || old.id, old.project_id, 'customerWorkflow', 'cancel')
    on conflict (run_id) do update set action = 'cancel', generation = outbox.generation + 1,
      due_at = excluded.due_at;
  return null;
end
$$;
create or replace trigger execution_orphan_run after delete on execution for each row
  when (old.dispatch is not null or old.status in ('RUNNING', 'WAITING'))
  execute function keep_orphan_run();
