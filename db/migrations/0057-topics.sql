-- Kinds of marketing mail that a contact can choose.
create table topic (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references project on delete cascade,
  key text not null,
  name text not null,
  description text,
  visibility text not null check (visibility in ('public', 'private')),
  -- Whether a contact without a choice of its own gets its mail.
  by_default boolean not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (project_id, key)
);
comment on table topic is 'Kinds of marketing mail that a contact can choose.';

-- What contacts have chosen themselves; without a row the default of the topic holds.
create table contact_topic (
  contact_id uuid not null references contact on delete cascade,
  topic_id uuid not null,
  project_id uuid not null,
  subscribed boolean not null,
  changed_at timestamptz(3) not null default now(),
  primary key (contact_id, topic_id)
);
comment on table contact_topic is 'The topics that contacts have chosen or left themselves.';
-- They may be a million: see note_removal.
alter table removal drop constraint removal_kind_check;
alter table removal add constraint removal_kind_check check (kind in ('workflow', 'segment', 'topic'));
create trigger topic_removal after delete on topic
  for each row execute function note_removal();
create index contact_topic_topic on contact_topic (topic_id);

-- No foreign keys: mail and sent campaigns keep the id of a topic that is deleted, which counts as none.
alter table template add column topic_id uuid;
alter table campaign add column topic_id uuid;
alter table email add column topic_id uuid;
