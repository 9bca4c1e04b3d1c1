-- Restores: PostgreSQL or Temporal was found to be new, older or another.

create table installation (
  is_only_row boolean primary key default true check (is_only_row),
  -- Number and time of the last sweep. Temporal has the same in the memo of the sweep, so each of the
  -- two shows if the other is older.
  heartbeat bigint not null default 0,
  heartbeat_at timestamptz(3),
  -- Mail of executions that have started before waits for the operator, except in these projects,
  -- whose mail the operator has released; null: no mail does.
  held_before timestamptz(3),
  released uuid[] not null default '{}',
  -- The value of MAIL_HOLD with which a worker has started last.
  mail_hold boolean not null default false
);
comment on table installation is 'One row: the heartbeat by which a restored PostgreSQL or Temporal is '
  'noticed, and since when mail waits for the operator.';

insert into installation default values;

create table restore (
  id uuid primary key default uuid_v7(),
  kind text not null check (kind in
      ('temporal_lost', 'temporal_older', 'database_older', 'database_moved', 'by_hand')),
  -- The span of which one of the two lacks the data; null: not known, or the span has no begin.
  from_at timestamptz(3),
  to_at timestamptz(3),
  noticed_at timestamptz(3) not null default now(),
  -- All earlier mail is held; null: this restore holds no mail.
  held_before timestamptz(3),
  -- The holding continues behind this message. `is_held`: all earlier mail is held.
  held_to uuid not null default '00000000-0000-0000-0000-000000000000',
  is_held boolean not null default false,
  -- The repair of executions continues behind this one, in the order in which they are due.
  repaired_to timestamptz(3) not null default '-infinity',
  repaired_to_id uuid not null default '00000000-0000-0000-0000-000000000000',
  -- When the runs were made to agree with the rows.
  repaired_at timestamptz(3),
  -- Numbers of executions that were checked, whose run was started again, whose row was advanced, or ended as its run; of
  -- other runs that were signalled, and of schedules that were checked.
  checked integer not null default 0,
  restarted integer not null default 0,
  advanced integer not null default 0,
  ended integer not null default 0,
  runs integer not null default 0,
  schedules integer not null default 0,
  -- Number of messages that turned out to be handed over.
  settled integer not null default 0,
  ended_at timestamptz(3)
);
comment on table restore is 'Times at which PostgreSQL or Temporal was found to be new, older or another, '
  'or an operator held the mail.';
comment on column restore.kind is 'What happened: Temporal''s data are lost or older, the database is '
  'older or in another cluster, or an operator has held the mail.';
create index restore_page on restore (noticed_at desc, id desc);
create index restore_open on restore (noticed_at) where ended_at is null;

create table restore_loss (
  restore_id uuid not null references restore on delete cascade,
  kind text not null check (kind in ('execution', 'mail')),
  -- The id of the lost execution, or of the lost step that has sent the mail.
  id uuid not null,
  primary key (restore_id, kind, id)
);
comment on table restore_loss is 'Executions and mail that Temporal knows, and a restored database does not.';
