-- The security log: who changed what, from where, when.

-- Rows are removed after SECURITY_LOG_RETENTION_DAYS, and with their project or, without one, with
-- their user.
create table security_event (
  id uuid primary key default uuid_v7(),
  -- Collation "C", so that an index finds the names with a prefix.
  event text collate "C" not null,
  -- The user who acted; null: a key, a client that was not signed in, or a user whose account is
  -- deleted.
  user_id uuid references app_user on delete set null,
  -- The actor, as `actorOf` writes actors; null: a client that was not signed in.
  actor text,
  project_id uuid,
  ip text,
  -- Id of the request, as in the log of the API.
  request_id text,
  -- The record that was changed.
  target_type text,
  target_id text,
  -- List of {field, before, after}, without secrets and without data of contacts; null: no fields.
  changes jsonb,
  -- Ids and short texts, never a secret.
  details jsonb not null default '{}',
  -- Number of equal events within a minute for which this row stands.
  count integer not null default 1,
  created_at timestamptz(3) not null default now()
);
comment on table security_event is 'Log-ins, refusals and changes: who, from where, when.';
create index security_event_user on security_event (user_id, id) where user_id is not null;
-- The events of a user outside projects, sorted like the list of them.
create index security_event_own on security_event (user_id, created_at, id)
  where user_id is not null and project_id is null;
-- One index for each filter of the list, sorted like the list.
create index security_event_project on security_event (project_id, created_at, id)
  where project_id is not null;
create index security_event_name on security_event (project_id, event, created_at, id)
  where project_id is not null;
create index security_event_actor on security_event (project_id, actor, created_at, id)
  where project_id is not null;
create index security_event_target on security_event (project_id, target_id, created_at, id)
  where project_id is not null;
create index security_event_age on security_event (created_at);
