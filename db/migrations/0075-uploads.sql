-- Uploaded files, so that a project stores no more than it may. Their owner is the public id of a project, as in
-- their keys: files outlive a reset.
set lock_timeout = 1000;

create table upload (
  key text primary key,
  owner_id uuid not null,
  bytes bigint not null,
  stored boolean not null default false,
  created_at timestamptz(3) not null default now()
);
comment on table upload is 'Uploaded files; those that are not stored yet count, too.';
create index upload_owner on upload (owner_id);
create index upload_unfinished on upload (owner_id, created_at) where not stored;

create table upload_usage (
  owner_id uuid primary key,
  bytes bigint not null
);
comment on table upload_usage is 'The sum of the uploads of an owner.';
