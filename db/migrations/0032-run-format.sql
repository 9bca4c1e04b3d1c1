-- In which format the runs of executions begin: the newest one that the workers of this version and of
-- the one before understand, because both may take the same run, in any order. Here the version before
-- does not understand 3, unless it never ran: then nobody can have a run of it, or go back to it.
create table run_format (
  kind text primary key,
  format int not null
);
comment on table run_format is 'The format in which new runs of a kind begin.';
insert into run_format (kind, format)
  select 'customerWorkflow', case when exists (select from app_user) then 2 else 3 end;
