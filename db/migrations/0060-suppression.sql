-- Addresses that a project must not send to. They belong to the public id of the project, which a reset
-- keeps: a list may be long, and a reset does not touch it.

create table suppression_key (
  owner_id uuid primary key,
  -- Encrypted. Whoever has it can find out whether the list has an address.
  key bytea not null,
  created_at timestamptz(3) not null default now()
);
comment on table suppression_key is
  'The key of a project under which it hashes addresses. Only projects with entries have one.';

create table suppression (
  id uuid primary key default uuid_v7(),
  owner_id uuid not null,
  -- HMAC-SHA-256 of the address in its stored form, under the key of the project.
  address_hash bytea not null,
  -- null: only the hash is kept.
  email text,
  reason text not null
    check (reason in ('hard_bounce', 'complaint', 'manual', 'import', 'erased', 'opt_out')),
  scope text not null check (scope in ('marketing', 'all')),
  -- The message whose feedback or link made it.
  email_id uuid,
  -- null: it never ends.
  until timestamptz(3),
  -- Of an erased contact: its consent log, without the person's connection.
  history jsonb,
  created_at timestamptz(3) not null default now()
);
comment on table suppression is 'Addresses that a project must not send to, at most one entry each.';
create unique index suppression_address on suppression (owner_id, address_hash);
create index suppression_page on suppression (owner_id, created_at desc, id desc);
create index suppression_end on suppression (until) where until is not null;

alter table project add column bounce_scope text
  check (bounce_scope in ('marketing', 'all'));
comment on column project.bounce_scope is
  'The scope of entries of permanent bounces; null: marketing.';
