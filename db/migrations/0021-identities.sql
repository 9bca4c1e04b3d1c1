-- Users of OpenID providers.

create table identity (
  id uuid primary key default uuid_v7(),
  user_id uuid not null references app_user on delete cascade,
  -- The id of the provider in the file of OpenID providers.
  provider text not null,
  -- The provider's address, and the id of the user there. An address of mail can change its owner,
  -- these cannot.
  issuer text not null,
  subject text not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  unique (issuer, subject)
);
comment on table identity is 'By which users of OpenID providers an account signs in.';
create index identity_user on identity (user_id);
