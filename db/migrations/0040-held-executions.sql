-- no transaction

drop index concurrently if exists execution_paused;
create index concurrently execution_paused on execution (workflow_id, started_at desc, id desc)
  where paused_at is not null;

drop index concurrently if exists execution_held;
create index concurrently execution_held on execution (workflow_id, id)
  where held_at is not null and status in ('RUNNING', 'WAITING');

drop index concurrently if exists execution_moving;
create index concurrently execution_moving on execution (move_job_id, id)
  where move_job_id is not null;

drop index concurrently if exists job_open_workflow;
create index concurrently job_open_workflow on job (workflow_id)
  where workflow_id is not null and state in ('waiting', 'active');
