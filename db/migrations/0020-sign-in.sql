-- Second factors, and sign-ins in progress.

create table factor (
  id uuid primary key default uuid_v7(),
  user_id uuid not null references app_user on delete cascade,
  type text not null check (type in ('totp', 'passkey')),
  name text not null,
  -- The secret of an authenticator app (TOTP), encrypted.
  secret bytea,
  -- The newest time step whose code was accepted. Codes of this step and before are refused.
  used_step integer,
  -- A passkey, as WebAuthn describes it.
  credential_id text unique,
  public_key bytea,
  counter bigint,
  transports text[],
  -- When the first code was accepted; null: never, so the row does not count as a factor yet.
  confirmed_at timestamptz(3),
  last_used_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  check ((type = 'totp') = (secret is not null)),
  check ((type = 'passkey') = (credential_id is not null and public_key is not null
    and counter is not null))
);
comment on table factor is 'Second factors of users: authenticator apps and passkeys.';
create index factor_user on factor (user_id);

create table recovery_code (
  user_id uuid not null references app_user on delete cascade,
  -- SHA-256 of the recovery code, without its hyphen.
  code_hash bytea not null,
  primary key (user_id, code_hash)
);
comment on table recovery_code is 'Codes that replace a second factor, each once.';

create table pending_sign_in (
  -- SHA-256 of the token in the cookie.
  token_hash bytea primary key,
  user_id uuid not null references app_user on delete cascade,
  -- The user's `session_version` when the first factor was proved.
  version integer not null,
  method text not null,
  provider text,
  -- The user at the OpenID provider, as in `session`.
  issuer text,
  subject text,
  provider_sid text,
  -- Lifetime of the session, in seconds.
  seconds integer not null,
  tries smallint not null default 0,
  expires_at timestamptz(3) not null
);
comment on table pending_sign_in is 'Sign-ins whose first factor is proved, and whose second '
  'factor is still missing.';
create index pending_sign_in_user on pending_sign_in (user_id, expires_at);
create index pending_sign_in_expiry on pending_sign_in (expires_at);
create index pending_sign_in_subject on pending_sign_in (issuer, subject) where issuer is not null;
create index pending_sign_in_provider_sid on pending_sign_in (issuer, provider_sid)
  where provider_sid is not null;

create table used_challenge (
  -- SHA-256 of a challenge in a signed cookie, or of the id of a logout token.
  hash bytea primary key,
  expires_at timestamptz(3) not null
);
comment on table used_challenge is 'Challenges of sign-ins that were answered, and logout tokens: each works once.';
create index used_challenge_expiry on used_challenge (expires_at);

create table break_glass (
  user_id uuid primary key references app_user on delete cascade,
  -- SHA-256 of the token in the link.
  token_hash bytea not null unique,
  expires_at timestamptz(3) not null
);
comment on table break_glass is 'Sign-in links from an operator for a user who is locked out: one '
  'per user.';
create index break_glass_expiry on break_glass (expires_at);
