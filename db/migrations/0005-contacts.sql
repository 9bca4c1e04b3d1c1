-- Contacts and segments.

create table contact (
  -- Random on purpose: the id works as the secret of the public opt-out pages.
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  email text not null,
  subscribed boolean not null,
  data jsonb check (data is null or (jsonb_typeof(data) = 'object' and data <> '{}')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  consent text,
  unique (project_id, email)
);
comment on table contact is 'Contacts: each is one address of a project, with its data and '
  'subscription.';
comment on column contact.consent is 'The state of the newest opt-in request of the contact''s '
  'address; null: there was none.';
create index contact_page on contact (project_id, created_at desc, id desc)
  include (email, subscribed);
create index contact_consent on contact (project_id, consent, created_at desc, id desc)
  where consent is not null;

create table segment (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  type text not null check (type in ('DYNAMIC', 'STATIC')),
  condition jsonb,
  track_membership boolean not null default false,
  member_count integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  computed_at timestamptz(3) not null default now(),
  -- The key that names the segment in files for version control; null until the first export.
  file_key text collate "C",
  check ((type = 'DYNAMIC') = (condition is not null))
);
comment on table segment is 'Segments: sets of contacts, selected by a condition or by hand.';
create index segment_page on segment (project_id, created_at desc, id desc);
-- Partial: a change of a key then does not hold up new rows that refer to the segment.
create unique index segment_file_key on segment (project_id, file_key) where file_key is not null;
create index segment_keyless on segment (project_id, created_at, id) where file_key is null;
create index segment_due on segment (computed_at);

-- The members of a STATIC segment, or of a tracked DYNAMIC one as of its last computation.
create table segment_member (
  segment_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  project_id uuid not null,
  created_at timestamptz(3) not null default now(),
  primary key (segment_id, contact_id)
);
comment on table segment_member is 'Members of STATIC segments and of tracked DYNAMIC segments.';
create index segment_member_page on segment_member (segment_id, created_at desc, contact_id desc);
create index segment_member_contact on segment_member (contact_id);

create trigger segment_removal after delete on segment
  for each row execute function note_removal();
