-- What each contact has agreed to and taken back, and how it is known. A line is written in the transaction of
-- its change, and goes with the contact. Changes of before this table, and those that a process of the version
-- before makes while both run, have no line.
create table consent (
  id bigint generated always as identity,
  contact_id uuid not null references contact on delete cascade,
  project_id uuid not null,
  at timestamptz(3) not null default clock_timestamp(),
  action text not null check (action in
    ('requested', 'confirmed', 'expired', 'granted', 'imported', 'withdrawn', 'address_changed')),
  source text not null,
  -- The key of a topic; null: mail as a whole.
  topic text,
  ip text,
  user_agent text,
  -- What the person has read.
  text text,
  -- pk, sk or the id of a user.
  actor text,
  primary key (contact_id, id)
);
comment on table consent is 'What each contact has agreed to and taken back, and how it is known.';

-- Who started it, as the consent log names them: what a job changes is theirs.
alter table job add column actor text;
comment on column job.actor is 'sk or the id of the user who started it; null: not known.';
