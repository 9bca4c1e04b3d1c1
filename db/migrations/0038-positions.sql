-- no transaction

-- Where the active executions of a workflow are, to be counted and found by version and step.
drop index concurrently if exists execution_position;
create index concurrently execution_position
  on execution (workflow_id, workflow_version, current_step_id, id)
  where status in ('RUNNING', 'WAITING');
