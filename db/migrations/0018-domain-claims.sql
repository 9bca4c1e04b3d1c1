-- Several projects may claim one name; the first claim that is verified holds it.
--
-- Processes of the version before run beside this and insert with `on conflict (name)`, which needs
-- the unique `name`. So it stays for now, and the name itself moves to a column of its own:
--   name       unique. The claim that holds the name, or came first, has it plain, where the version
--              before finds it. Every other claim has the name, a space and an id.
--   host_name  the name, for this version and all after it.
-- Once no process of the version before runs, a later migration may drop `name` and make `host_name`
-- a plain column.
--
-- Each claim has a token of its own, in SES mode to be published as a TXT record. Rows of the version
-- before get one by the default. What is verified already has proven less, and is not asked for the
-- record until it fails and is verified again.
alter table domain
  add column host_name text not null generated always as (split_part(name, ' ', 1)) stored,
  add column ownership_token text not null default replace(gen_random_uuid()::text, '-', ''),
  add column ownership_record_needed boolean not null default true;
update domain set ownership_record_needed = false where status = 'verified';
create unique index domain_claim on domain (project_id, host_name);
create unique index domain_holder on domain (host_name) where status = 'verified';
create index domain_host_name on domain (host_name);

-- Identities of the mail provider that this server has made. What is not here was in the account
-- before, or may have been: nobody knows who made those of the version before.
create table ses_identity (
  name text primary key,
  -- Until then at most, somebody is having the provider forget it.
  removing_until timestamptz(3),
  created_at timestamptz(3) not null default now()
);
comment on table ses_identity is
  'Identities of the mail provider that this server has made: only these are changed or deleted.';
