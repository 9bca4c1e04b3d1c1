-- Consent: topics, the consent log, opt-in requests, suppression and erasure.

create table topic (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references project on delete cascade,
  key text not null,
  name text not null,
  description text,
  visibility text not null check (visibility in ('public', 'private')),
  -- True if contacts that have made no choice receive the topic's mail.
  by_default boolean not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (project_id, key)
);
comment on table topic is 'Kinds of marketing mail that a contact can choose.';

create trigger topic_removal after delete on topic
  for each row execute function note_removal();

-- Choices that contacts have made. Without a row, the default of the topic applies.
create table contact_topic (
  contact_id uuid not null references contact on delete cascade,
  topic_id uuid not null,
  project_id uuid not null,
  subscribed boolean not null,
  changed_at timestamptz(3) not null default now(),
  primary key (contact_id, topic_id)
);
comment on table contact_topic is 'Choices of contacts about topics.';
create index contact_topic_topic on contact_topic (topic_id);

-- The consent log. A row is written in the transaction of the change that it records, and deleted
-- with the contact.
create table consent (
  id bigint generated always as identity,
  contact_id uuid not null references contact on delete cascade,
  project_id uuid not null,
  at timestamptz(3) not null default clock_timestamp(),
  action text not null check (action in
      ('requested', 'confirmed', 'expired', 'granted', 'imported', 'withdrawn', 'address_changed')),
  source text not null,
  -- The key of a topic; null: the change concerns all mail.
  topic text,
  ip text,
  user_agent text,
  -- The consent text that the person was shown.
  text text,
  -- The actor, as `actorOf` writes actors; null: not known.
  actor text,
  primary key (contact_id, id)
);
comment on table consent is 'The consent log: changes of each contact''s consent, with their '
  'evidence.';

create table opt_in (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  -- The address at the time of the request. If the contact's address changes, the request ends.
  email text not null,
  state text not null default 'pending' check (state in ('pending', 'confirmed', 'expired')),
  -- The content of the request. `of_mail`: to subscribe to mail at all; `topic_ids`: to join these
  -- topics.
  of_mail boolean not null,
  topic_ids uuid[] not null,
  -- SHA-256 of the token in the confirmation link; null: no mail with a link was sent yet.
  token_hash bytea,
  -- True if the confirmation mail must be created now.
  mail_wanted boolean not null,
  -- Confirmation mails sent to the address since its last confirmation, including those of earlier
  -- requests.
  mails smallint not null,
  -- When a request last caused a mail; reminders do not count.
  counted_at timestamptz(3),
  first_mail_at timestamptz(3),
  last_mail_at timestamptz(3),
  reminded_at timestamptz(3),
  -- The actor whose request caused the last mail; reminders keep this actor.
  asked_by text,
  -- Seconds from the first mail to the reminder (null: there is none), and from the last mail to
  -- the expiry. Copied from the consent policy when the request was made.
  remind_after integer,
  expire_after integer not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- When the contact last asked to opt in.
  asked_at timestamptz(3) not null default clock_timestamp(),
  ended_at timestamptz(3),
  -- When the sweep checks that the request's run is not lost.
  next_reconcile_at timestamptz(3) not null default clock_timestamp() + interval '1 minute'
);
comment on table opt_in is 'Requests of contacts to get mail, which the owner of the address confirms.';
create unique index opt_in_open on opt_in (contact_id) where state = 'pending';
create index opt_in_contact on opt_in (contact_id, created_at desc);
create index opt_in_address on opt_in (project_id, email, created_at desc);
create unique index opt_in_token on opt_in (token_hash) where token_hash is not null;
create index opt_in_reconcile on opt_in (next_reconcile_at) where state = 'pending';

create table suppression_key (
  owner_id uuid primary key,
  -- Encrypted, because with this key one can test if an address is on the suppression list.
  key bytea not null,
  created_at timestamptz(3) not null default now()
);
comment on table suppression_key is 'Keys with which projects hash addresses. Only projects that '
  'had a suppression entry have one.';

create table suppression (
  id uuid primary key default uuid_v7(),
  owner_id uuid not null,
  -- HMAC-SHA-256 of the address in its stored form, under the key of the project.
  address_hash bytea not null,
  -- The address as text; null: only its hash is kept.
  email text,
  reason text not null
      check (reason in ('hard_bounce', 'complaint', 'manual', 'import', 'erased', 'opt_out')),
  scope text not null check (scope in ('marketing', 'all')),
  -- The message whose feedback or link created the entry.
  email_id uuid,
  -- When the suppression ends; null: never.
  until timestamptz(3),
  -- The consent log of an erased contact, without IP address and user agent.
  history jsonb,
  created_at timestamptz(3) not null default now()
);
comment on table suppression is 'Addresses that a project must not send to, at most one entry each.';
create unique index suppression_address on suppression (owner_id, address_hash);
create index suppression_page on suppression (owner_id, created_at desc, id desc);
create index suppression_end on suppression (until) where until is not null;

create table erasure (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null,
  -- Id of the project's row when the erasure was requested. Only data under this id are searched.
  rows_of uuid not null,
  -- During an erasure the contact belongs to no project: its `project_id` is the id of the erasure.
  -- The contact's id and address are null here once the erasure is completed.
  contact_id uuid,
  email text,
  state text not null default 'waiting' check (state in ('waiting', 'active', 'completed')),
  -- Current task of the erasure, and the position that it has reached; null: its beginning.
  task text,
  position text,
  counts jsonb not null default '{}',
  requested_at timestamptz(3) not null default clock_timestamp(),
  completed_at timestamptz(3),
  touched_at timestamptz(3) not null default now(),
  receipt_hash text,
  check ((state = 'completed') = (email is null))
);
comment on table erasure is 'Erasures of contacts. The row of a completed erasure is a receipt '
  'without personal data.';
create index erasure_owner on erasure (owner_id);
create index erasure_open on erasure (touched_at) where state <> 'completed';

-- When a project may send marketing mail to its contacts. A project without a row has the defaults,
-- which hold no mail back.
create table send_policy (
  project_id uuid not null primary key,
  time_zone text not null default 'UTC',
  -- Field with the contact's own time zone, as data.<path>; null: the project's time zone applies
  -- to all contacts.
  contact_time_zone_field text default 'data.timeZone',
  -- Quiet hours, as {from, to, days}; null: none.
  quiet_hours jsonb,
  -- Caps: at most `max` messages in `perDays` days, as [{max, perDays}].
  caps jsonb not null default '[]',
  on_cap text not null default 'skip' check (on_cap in ('skip', 'delay')),
  updated_at timestamptz(3) not null default now()
);
comment on table send_policy is 'Quiet hours and frequency caps of a project; a project without a '
  'row has none.';

create table holdout (
  project_id uuid not null primary key,
  -- Size of the holdout group, in hundredths of a percent. Each contact has a slot from 0 to 9999;
  -- contacts in lower slots than this number are held out.
  slots smallint not null default 0 check (slots between 0 and 2000),
  salt text not null default replace(gen_random_uuid()::text, '-', ''),
  -- Topics or workflows whose mail the group does not get; both null: all marketing mail.
  topic_ids uuid[],
  workflow_ids uuid[],
  ends_at timestamptz(3),
  updated_at timestamptz(3) not null default now(),
  check (topic_ids is null or workflow_ids is null)
);
comment on table holdout is 'Hold-outs of projects: some contacts get no marketing mail, so that '
  'its effect can be measured. A project without a row has none.';
