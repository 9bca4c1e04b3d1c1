-- Double opt-in: who asks for mail is sent a link, and gets it once the link was confirmed.

alter table project
  add column opt_in_required boolean not null default false,
  add column opt_in_template_id uuid,
  add column opt_in_from_email text,
  add column opt_in_from_name text,
  add column opt_in_remind_after integer,
  add column opt_in_expire_after integer not null default 604800,
  add column consent_policy_at timestamptz(3);
comment on column project.opt_in_template_id is 'Of the confirmation mail; null: the built-in text.';
comment on column project.opt_in_remind_after is
  'Seconds from the first mail of a request to its reminder; null: there is none.';
comment on column project.opt_in_expire_after is
  'Seconds from the last mail of a request to its end.';
comment on column project.consent_policy_at is 'When the consent policy was last set.';

-- Requests of contacts to get mail, which the owner of the address has to confirm.
create table opt_in (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  -- The address of then: with another one the request has ended.
  email text not null,
  state text not null default 'pending' check (state in ('pending', 'confirmed', 'expired')),
  -- What is asked for: mail as a whole, and topics.
  of_mail boolean not null,
  topic_ids uuid[] not null,
  -- SHA-256 of the token in its link; null: no mail has left yet.
  token_hash bytea,
  -- A mail is to be made now.
  mail_wanted boolean not null,
  -- Mails to the address since its last confirmation, with those of requests before.
  mails smallint not null,
  -- When one was last asked for, reminders left out.
  counted_at timestamptz(3),
  first_mail_at timestamptz(3),
  last_mail_at timestamptz(3),
  reminded_at timestamptz(3),
  -- As the policy was when it was made, in seconds.
  remind_after integer,
  expire_after integer not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- When it was last asked for.
  asked_at timestamptz(3) not null default clock_timestamp(),
  ended_at timestamptz(3),
  -- When the sweep looks whether its run is lost.
  look_at timestamptz(3) not null default clock_timestamp() + interval '1 minute'
);
comment on table opt_in is 'Requests of contacts to get mail, which the owner of the address confirms.';
create unique index opt_in_open on opt_in (contact_id) where state = 'pending';
create index opt_in_contact on opt_in (contact_id, created_at desc);
create index opt_in_address on opt_in (project_id, email, created_at desc);
create unique index opt_in_token on opt_in (token_hash) where token_hash is not null;
create index opt_in_look on opt_in (look_at) where state = 'pending';

alter table contact add column consent text;
comment on column contact.consent is 'The state of the newest opt-in request of its address; null: there was none.';

-- No foreign key: mail outlives the requests of its contact.
alter table email add column opt_in_id uuid;
comment on column email.opt_in_id is 'The request that it asks to confirm: its link gets the token when it leaves.';

alter table worker_process add column mail_format smallint not null default 1;
comment on column worker_process.mail_format is '2: it knows mail whose link gets a token when it leaves.';
