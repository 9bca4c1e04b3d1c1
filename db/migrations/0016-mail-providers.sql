-- Mail providers of projects, and the routes that choose among them. The providers of the
-- installation are settings, not rows.

create table mail_provider (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  kind text not null check (kind in ('smtp', 'ses')),
  enabled boolean not null default true,
  -- The provider's settings that are not secret, as the API shows them.
  settings jsonb not null,
  -- The password (SMTP) or the secret key (SES), encrypted; null: there is none.
  secret bytea,
  -- The way in which the provider reports deliveries, bounces and complaints.
  feedback text not null,
  -- The key or password that protects the provider's webhooks, encrypted; null: only the token in
  -- their address does.
  feedback_secret bytea,
  -- SHA-256 of the token in the address of the provider's webhooks; null: it has no webhooks.
  feedback_token_hash bytea,
  -- The previous token, and until when an address with it still works.
  former_token_hash bytea,
  former_token_until timestamptz(3),
  -- Sender domains that the provider may send for; null: all.
  domains text[],
  rate_per_second integer,
  max_message_mb integer,
  -- True if Everpost signs mail that is sent through this provider.
  own_signing boolean not null default true,
  -- Increased with each change of the provider's address or credentials.
  revision integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((former_token_hash is null) = (former_token_until is null))
);
comment on table mail_provider is 'Mail providers that projects have added.';
create unique index mail_provider_name on mail_provider (project_id, lower(name));
create index mail_provider_topic on mail_provider ((settings->>'snsTopicArn'))
  where settings->>'snsTopicArn' is not null;

create table mail_routing (
  project_id uuid not null primary key references project on delete cascade,
  -- The routes in order, as the API shows them.
  routes jsonb not null,
  updated_at timestamptz(3) not null default now()
);
comment on table mail_routing is 'Routes: they choose the mail provider of each mail of a project.';
