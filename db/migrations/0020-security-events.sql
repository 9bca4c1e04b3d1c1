-- What matters to security: who did it, from where, when. Rows are removed after
-- SECURITY_LOG_RETENTION_DAYS, and with their project or, without one, with their user.
create table security_event (
  id uuid primary key default uuid_v7(),
  event text not null,
  -- Who did it; null: a secret key, or somebody who is not logged in.
  user_id uuid references app_user on delete set null,
  project_id uuid,
  ip text,
  -- The request, as in the log of the API.
  request_id text,
  -- What it was about: ids and words, never a secret.
  details jsonb not null default '{}',
  created_at timestamptz(3) not null default now()
);
create index security_event_user on security_event (user_id, id) where user_id is not null;
create index security_event_project on security_event (project_id, id)
  where project_id is not null;
create index security_event_age on security_event (created_at);
comment on table security_event is 'Logins, refusals and changes of keys, roles and members: who, from where, when';
