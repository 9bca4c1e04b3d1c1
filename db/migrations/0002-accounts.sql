-- Users, their log-ins and sessions.

create table app_user (
  id uuid primary key default uuid_v7(),
  email text not null unique,
  type text not null check (type in ('PASSWORD', 'GITHUB_OAUTH', 'GOOGLE_OAUTH', 'OIDC')),
  password_hash text,
  email_verified boolean not null,
  session_version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The user's id at GitHub or Google (users of OpenID providers have a row in `identity`). An
  -- email address can pass to another person; this id cannot.
  provider_id text,
  -- The OpenID provider whose user may take over this account, which an invitation has created;
  -- null: no such user is expected.
  awaited_provider text,
  check ((type = 'PASSWORD') = (password_hash is not null))
);
comment on table app_user is 'User accounts.';
create unique index app_user_provider on app_user (type, provider_id) where provider_id is not null;

-- Links in mail about accounts. Used links are kept for an hour too, because they are counted for
-- the limit per hour.
create table account_token (
  token_hash bytea primary key,
  user_id uuid not null references app_user on delete cascade,
  purpose text not null
      check (purpose in ('sign_up', 'verify_email', 'reset_password', 'invitation', 'members_by_key',
        'factor')),
  used_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp()
);
comment on table account_token is 'Links in mail about accounts, to verify an address or to set a '
  'new password. Each link works once, for an hour. Mails about invitations and changed members '
  'have rows only to be counted.';
create index account_token_user on account_token (user_id, purpose, created_at);
create index account_token_age on account_token (created_at);

-- A changed password invalidates the links to set a new password, and a changed address invalidates
-- all links. A trigger does this, because operators also change accounts in the database.
create function end_account_links() returns trigger language plpgsql as $$
begin
  update account_token set used_at = now()
    where user_id = new.id and used_at is null
      and (purpose = 'reset_password' or new.email <> old.email or new.type <> old.type);
  return null;
end
$$;

create trigger app_user_links after update of email, type, password_hash on app_user for each row
  when ((old.email, old.type, old.password_hash) is distinct from
    (new.email, new.type, new.password_hash))
  execute function end_account_links();

-- Sessions of users: who logged in, and from where. A cookie refers to its row, so that one session
-- can be ended.
create table session (
  id uuid primary key default uuid_v7(),
  user_id uuid not null references app_user on delete cascade,
  -- The user's `session_version` when the session began. When the user's version is raised, the
  -- session ends.
  version integer not null,
  ip text,
  user_agent text,
  -- How the user signed in. `provider` is the id of the OpenID provider, for the method `oidc`.
  method text not null
      check (method in ('password', 'github', 'google', 'oidc', 'passkey', 'break_glass')),
  provider text,
  -- For the method `oidc`: the user and the session at the OpenID provider, which sends them when
  -- the user logs out there.
  issuer text,
  subject text,
  provider_sid text,
  -- The second factor that was proved, at sign-in or later; null: none was.
  second_factor text check (second_factor in ('totp', 'passkey', 'recovery', 'provider')),
  -- When the user last proved who they are. Irreversible actions need a recent proof.
  proved_at timestamptz not null default now(),
  created_at timestamptz(3) not null default now(),
  last_seen_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null
);
comment on table session is 'Sessions: one row for each log-in.';
create index session_user_id on session (user_id);
create index session_expiry on session (expires_at);
create index session_subject on session (issuer, subject) where issuer is not null;
create index session_provider_sid on session (issuer, provider_sid) where provider_sid is not null;

-- A trigger, so that every statement that ends all sessions also deletes their rows.
create function end_sessions() returns trigger language plpgsql as $$
begin
  delete from session where user_id = new.id and version < new.session_version;
  return null;
end
$$;

create trigger app_user_sessions after update of session_version on app_user for each row
  when (new.session_version > old.session_version)
  execute function end_sessions();
