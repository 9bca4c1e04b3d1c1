-- Named API keys of a project, with scopes, restrictions and an expiry.

create table api_key (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  kind text not null check (kind in ('secret', 'public')),
  -- SHA-256 of the key.
  key_hash bytea not null unique,
  key_last4 text not null,
  -- SHA-256 of the key before the last rotation. The old key works until `rotates_until`.
  previous_hash bytea unique,
  rotates_until timestamptz(3),
  scopes text[] not null,
  -- Restrictions to sender domains, networks and event names; null: none.
  domains text[],
  cidrs text[],
  events text[],
  expires_at timestamptz(3),
  -- When the next notice about the key's expiry is due (domain/access/key-expiry.ts); null: never.
  notice_at timestamptz(3),
  last_used_at timestamptz(3),
  -- `created_by`, `revoked_by`: the actors, as `actorOf` writes actors.
  created_by text not null,
  revoked_at timestamptz(3),
  revoked_by text,
  -- True: the key was revoked, and stored responses to its requests may still exist.
  clear_answers boolean not null default false,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((previous_hash is null) = (rotates_until is null)),
  check ((revoked_at is null) = (revoked_by is null))
);
comment on table api_key is 'API keys of a project besides its own two keys, each with a name and '
  'scopes.';
create index api_key_page on api_key (project_id, created_at desc, id desc);
create index api_key_answers on api_key (id) where clear_answers;
create index api_key_notice on api_key (notice_at) where notice_at is not null;
