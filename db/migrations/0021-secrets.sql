-- Credentials for the receivers of webhooks, sealed. They survive a reset of their project.
create table secret (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  name text not null,
  value bytea not null,
  -- Requests to these hosts alone get it; null: to any.
  hosts text[],
  updated_at timestamptz(3) not null default now(),
  unique (project_id, name)
);
comment on table secret is 'Credentials for the receivers of webhooks, sealed';
