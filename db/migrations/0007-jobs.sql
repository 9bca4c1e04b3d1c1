-- Jobs on many contacts: imports and bulk actions.

-- How many rows of its file an import has done.
alter table job add column position integer not null default 0;
-- What was asked for beside `data`, which is shown: {filter, excludeIds} of a bulk action.
alter table job add column request jsonb;
-- The last time something was done for it: a job that stands still is looked after.
alter table job add column touched_at timestamptz(3) not null default now();
create index job_open on job (touched_at) where state in ('waiting', 'active');
create index job_finished on job (finished_at) where finished_at is not null;

-- The file of an import until its job has ended: any worker may read it.
create table import_file (
  job_id text primary key references job on delete cascade,
  project_id uuid not null,
  content bytea not null
);
-- It lives for seconds: not worth the time to compress it.
alter table import_file alter column content set storage external;

-- The contacts a bulk action is about, fixed when it starts: one row for each batch that is still
-- to be done.
create table job_batch (
  job_id text not null references job on delete cascade,
  number integer not null,
  project_id uuid not null,
  contact_ids uuid[] not null,
  primary key (job_id, number)
);

-- Also finds claimed waits: deleting a contact looks for all of its waits.
drop index wait_open;
create index wait_contact on wait (contact_id, event_name);
