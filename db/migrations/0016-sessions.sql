-- Sessions of users: who logged in, from where. A cookie names its row, so that one session can be
-- ended. Cookies made before this name none; they live until they expire or all sessions end.
create table session (
  id uuid primary key default uuid_v7(),
  user_id uuid not null references app_user on delete cascade,
  -- The user's `session_version` at its start: once that is raised, the session is over.
  version integer not null,
  ip text,
  user_agent text,
  created_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
create index session_user_id on session (user_id);
create index session_expiry on session (expires_at);

-- A trigger, so that no statement that ends all sessions leaves their rows.
create function end_sessions() returns trigger language plpgsql as $$
begin
  delete from session where user_id = new.id and version < new.session_version;
  return null;
end
$$;
create trigger app_user_sessions after update of session_version on app_user for each row
  when (new.session_version > old.session_version)
  execute function end_sessions();
