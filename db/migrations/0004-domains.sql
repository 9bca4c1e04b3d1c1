-- Sender domains. Several projects may claim one name; the first claim that is verified holds it.

create table domain (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  -- False while a request registers it at the mail provider.
  is_registered boolean not null default true,
  dkim_tokens text[] not null,
  -- Who signs its mail; null: never chosen.
  signing text check (signing in ('own', 'provider')),
  -- True if its mail also gets a signature by Ed25519.
  ed25519 boolean not null default false,
  -- True if ordinary mail to its addresses is taken.
  inbound boolean not null default false,
  -- Label of the host for pixel and links of its mail; null: they are on the host of the API.
  tracking_subdomain text,
  -- When the label was set.
  tracking_since timestamptz(3),
  -- True if DNS has the record of this host: mail uses it while the domain is verified.
  tracking_active boolean not null default false,
  -- Consecutive daily checks without this record.
  tracking_missed integer not null default 0,
  -- State of each DNS record in the last check, by type and name of the record.
  record_states jsonb not null default '{}',
  -- Records that were needed before the signing of a verified domain was changed. They keep it
  -- verified until those that are needed now have been found once.
  former_records jsonb not null default '[]',
  -- Increased with each change by a request: a check that began before it is not stored.
  revision integer not null default 0,
  failed_checks integer not null default 0,
  last_checked_at timestamptz(3),
  verified_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- When the next regular check is due; null: the domain has failed, and has no regular checks.
  next_check_at timestamptz(3) default now(),
  -- From when on a regular check counts against a verified domain: it does so once a day.
  daily_check_at timestamptz(3) not null default now(),
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

create table domain_key (
  id uuid primary key default uuid_v7(),
  domain_id uuid not null references domain on delete cascade,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa', 'ed25519')),
  public_key text not null,
  -- Encrypted; null for a previous key, which signs no more.
  private_key bytea,
  state text not null check (state in ('current', 'next', 'previous')),
  created_at timestamptz(3) not null default now(),
  -- When a check first found its record; null: it never did, so the key does not sign.
  seen_at timestamptz(3),
  -- Until then, the record of a previous key must stay in DNS, for mail on its way.
  remove_after timestamptz(3),
  check ((state = 'previous') = (private_key is null)),
  check ((state = 'previous') = (remove_after is not null))
);
comment on table domain_key is 'DKIM keys of sender domains.';
create unique index domain_key_selector on domain_key (domain_id, selector, algorithm);
create unique index domain_key_state on domain_key (domain_id, state, algorithm)
  where state <> 'previous';

-- The identities that this server has created. Any other one in the provider's account is never
-- changed.
create table ses_identity (
  name text primary key,
  -- Latest end of the removal at the provider, while one is in progress.
  removing_until timestamptz(3),
  created_at timestamptz(3) not null default now()
);
comment on table ses_identity is 'Identities of the mail provider that this server has made: only these are changed or deleted.';
