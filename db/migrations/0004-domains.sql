-- Sender domains. Several projects may claim one name; the first claim that is verified holds it.

create table domain (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  dkim_tokens text[] not null,
  record_statuses jsonb not null default '{}',
  failed_checks integer not null default 0,
  last_checked_at timestamptz(3),
  verified_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- When the next regular check is due; null: the domain has failed, and has no regular checks.
  next_check_at timestamptz(3) default now(),
  -- Each claim has its own token. In SES mode it is published as a TXT record.
  ownership_token text not null default replace(gen_random_uuid()::text, '-', ''),
  next_reconcile_at timestamptz(3) not null default now()
);
comment on table domain is 'Sender domains and the state of their DNS records.';
create index domain_project on domain (project_id, created_at desc, id desc);
create unique index domain_claim on domain (project_id, name);
create unique index domain_holder on domain (name) where status = 'verified';
create index domain_name on domain (name);
create index domain_next_check on domain (next_check_at) where next_check_at is not null;

-- The identities that this server has created. Any other one in the provider's account is never
-- changed.
create table ses_identity (
  name text primary key,
  -- Latest end of the removal at the provider, while one is in progress.
  removing_until timestamptz(3),
  created_at timestamptz(3) not null default now()
);
comment on table ses_identity is 'Identities of the mail provider that this server has made: only these are changed or deleted.';
