-- Deleting a workflow or a segment deletes one row at once, and what belongs to it later, in pages:
-- a cascade over a million rows would take a minute and as much memory as it wants.

-- Deleted when all is gone that belongs to the workflow or segment.
create table removal (
  -- Of the workflow or segment.
  id uuid primary key,
  project_id uuid not null,
  kind text not null check (kind in ('workflow', 'segment'))
);
create index removal_project on removal (project_id);
comment on table removal is
  'Deleted workflows and segments of which executions, versions or members are still to be deleted.';

-- A trigger: they also go with their project, and processes of the version before delete them, too.
create function note_removal() returns trigger language plpgsql as $$
begin
  insert into removal (id, project_id, kind) values (old.id, old.project_id, tg_table_name)
    -- The members of a segment that is no longer tracked are being deleted already.
    on conflict do nothing;
  return null;
end
$$;
create trigger workflow_removal after delete on workflow
  for each row execute function note_removal();
create trigger segment_removal after delete on segment
  for each row execute function note_removal();

-- Instead of these: whoever inserts executions or members holds the workflow or segment by a lock.
alter table workflow_version drop constraint workflow_version_workflow_id_fkey;
alter table execution drop constraint execution_workflow_id_fkey;
alter table segment_member drop constraint segment_member_segment_id_fkey;
