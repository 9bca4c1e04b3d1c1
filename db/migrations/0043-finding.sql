-- no transaction

set lock_timeout = 1000;

-- Steps that completed with `success: false`: a webhook that was not accepted, where the flow goes on.
alter table execution add column if not exists warnings integer not null default 0;

-- Counted by a trigger: the version before completes steps, too. (No dollar quotes here: statements
-- are told apart by the semicolon at the end of a line.)
create or replace function count_warning() returns trigger language plpgsql as '
  begin
    update execution set warnings = warnings + 1 where id = new.execution_id; return null; end';

create or replace trigger step_execution_warning after update of status on step_execution
  for each row
  when (new.status = 'COMPLETED' and old.status <> 'COMPLETED'
    and new.output ->> 'success' = 'false')
  execute function count_warning();

reset lock_timeout;

-- Those of before, in pages: an execution that goes on meanwhile waits for one page at most.
do '
  declare
    ids uuid[]; place uuid := ''00000000-0000-0000-0000-000000000000''; begin
  loop
    ids := array(select id from execution where id > place order by id limit 5000)
    ; exit when ids = ''{}''
    ; update execution set warnings = counted.steps
      from (select execution_id, count(*)::int as steps from step_execution
        where execution_id = any (ids) and status = ''COMPLETED''
          and output ->> ''success'' = ''false''
        group by execution_id) counted
      where execution.id = counted.execution_id and execution.warnings < counted.steps
    ; commit
    ; place := ids[cardinality(ids)]
    ; end loop; end';

-- Searches over all workflows look into each of them, in the order of their list.
drop index concurrently if exists execution_warned;
create index concurrently execution_warned on execution (workflow_id, started_at desc, id desc)
  where warnings > 0;

drop index concurrently if exists execution_stuck_page;
create index concurrently execution_stuck_page
  on execution (workflow_id, started_at desc, id desc)
  where stuck_since is not null and status in ('RUNNING', 'WAITING');

drop index concurrently if exists job_import_page;
create index concurrently job_import_page on job (project_id, created_at desc, id desc)
  where kind = 'import';

-- The campaigns that did not reach a contact, newest first.
drop index concurrently if exists campaign_frozen;
create index concurrently campaign_frozen on campaign (project_id, frozen_at desc, id desc)
  where frozen_at is not null;
