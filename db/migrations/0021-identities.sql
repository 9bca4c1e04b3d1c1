-- Users of OpenID providers, and the projects that they are members of.

create table identity (
  id uuid primary key default uuid_v7(),
  user_id uuid not null references app_user on delete cascade,
  -- The id of the provider in the file of OpenID providers.
  provider text not null,
  -- The provider's address, and the user's id there. Unlike an email address, the two cannot pass
  -- to another person.
  issuer text not null,
  subject text not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  unique (issuer, subject)
);
comment on table identity is 'Users of OpenID providers who can sign in to an account.';
create index identity_user on identity (user_id);

create table sign_in_rule (
  project_id uuid not null references project on delete cascade,
  position smallint not null,
  -- The id of the provider in the file of OpenID providers.
  provider text not null,
  -- A claim that a user must have with this value; null: the rule applies to every user of the
  -- provider.
  claim text,
  value text,
  role text not null check (role in ('ADMIN', 'MEMBER')),
  primary key (project_id, position),
  check ((claim is null) = (value is null))
);
comment on table sign_in_rule is 'Rules by which users of OpenID providers are members of a '
  'project.';
create index sign_in_rule_claim on sign_in_rule (provider, claim, value);
