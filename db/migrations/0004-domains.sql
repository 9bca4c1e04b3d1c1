-- Sender domains. Several projects may claim one name; the first claim that is verified holds it.

create table domain (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  -- False while a request registers the domain at the mail provider.
  is_registered boolean not null default true,
  dkim_tokens text[] not null,
  -- `own`: Everpost signs the domain's mail with DKIM. `provider`: the mail provider does. Null:
  -- never chosen.
  signing text check (signing in ('own', 'provider')),
  -- True if the domain's mail also gets an Ed25519 signature.
  ed25519 boolean not null default false,
  -- True if Everpost receives mail that is sent to addresses of the domain.
  inbound boolean not null default false,
  -- First label of the host name for open pixels and tracked links in the domain's mail; null: they
  -- use the host of the API.
  tracking_subdomain text,
  -- When `tracking_subdomain` was set.
  tracking_since timestamptz(3),
  -- True if DNS has the record of the tracking host. Mail uses the host while the domain is
  -- verified.
  tracking_active boolean not null default false,
  -- Number of consecutive daily checks that did not find the record of the tracking host.
  tracking_missed integer not null default 0,
  -- State of each DNS record in the last check, by type and name of the record.
  record_states jsonb not null default '{}',
  -- Records that were required before the signing of a verified domain was changed. These records
  -- keep the domain verified until the newly required ones have been found once.
  former_records jsonb not null default '[]',
  -- Increased with each change by a request. The result of a check that began before the change is
  -- not stored.
  revision integer not null default 0,
  failed_checks integer not null default 0,
  last_checked_at timestamptz(3),
  verified_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- When the next regular check is due; null: the domain has failed, and is not checked regularly.
  next_check_at timestamptz(3) default now(),
  -- The next regular check at or after this time is the daily check, and moves this time to 24
  -- hours later. Only the daily check counts a missing record against a verified domain.
  daily_check_at timestamptz(3) not null default now(),
  -- Each project that claims the name has its own token. In SES mode, the token is published as a
  -- TXT record.
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
  -- Encrypted; null for a previous key, which no longer signs.
  private_key bytea,
  state text not null check (state in ('current', 'next', 'previous')),
  created_at timestamptz(3) not null default now(),
  -- When a check first found the DNS record of the key; null: never, so the key does not sign yet.
  seen_at timestamptz(3),
  -- Until this time, the DNS record of a previous key must stay, for mail that is still on its way.
  remove_after timestamptz(3),
  check ((state = 'previous') = (private_key is null)),
  check ((state = 'previous') = (remove_after is not null))
);
comment on table domain_key is 'DKIM keys of sender domains.';
create unique index domain_key_selector on domain_key (domain_id, selector, algorithm);
create unique index domain_key_state on domain_key (domain_id, state, algorithm)
  where state <> 'previous';

-- The SES identities that this server has created. The server never changes other identities in the
-- account.
create table ses_identity (
  name text primary key,
  -- While the identity is being deleted at SES: the latest time at which this request ends.
  removing_until timestamptz(3),
  created_at timestamptz(3) not null default now()
);
comment on table ses_identity is 'Identities that this server has created at the mail provider. '
  'The server changes no other identity.';
