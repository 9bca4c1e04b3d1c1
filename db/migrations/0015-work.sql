-- Jobs, requests to start or signal Temporal runs, idempotency keys and counters.

create table job (
  id text primary key,
  project_id uuid not null references project on delete cascade,
  kind text not null check (kind in
      ('import', 'bulk', 'migrate', 'move-waits', 'retry-all', 'replay')),
  state text not null default 'waiting'
      check (state in ('waiting', 'active', 'completed', 'failed', 'cancelled')),
  progress integer not null default 0 check (progress between 0 and 100),
  data jsonb not null,
  result jsonb,
  failed_reason text,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  -- Number of rows, contacts, executions or events that are done. An import continues at this row
  -- of its file.
  position integer not null default 0,
  -- Values that the API does not show (it shows `data`): the rest of the request, for example
  -- {filter, excludeIds} of a bulk action, and for some kinds the position at which the job
  -- continues.
  request jsonb,
  -- When the job last made progress. If that is long ago, the sweep signals its run.
  touched_at timestamptz(3) not null default now(),
  -- Set for jobs on the executions of a workflow.
  workflow_id uuid,
  -- The actor that started the job. Changes by the job are attributed to this actor.
  caused_by text,
  subscription_id uuid
);
comment on table job is 'Jobs: long work on many rows, with its progress and result, kept for 30 '
  'days.';
comment on column job.caused_by is 'The actor that started the job; null: not known.';
comment on column job.subscription_id is 'The subscription whose events a replay sends again.';
create index job_project on job (project_id, created_at desc);
create index job_open on job (touched_at) where state in ('waiting', 'active');
create index job_finished on job (finished_at) where finished_at is not null;
create index job_open_workflow on job (workflow_id)
  where workflow_id is not null and state in ('waiting', 'active');
create index job_import_page on job (project_id, created_at desc, id desc)
  where kind = 'import';
create unique index job_open_subscription on job (subscription_id)
  where subscription_id is not null and state in ('waiting', 'active');

-- The contacts of a bulk action, fixed when it starts: one row for each batch that is not done yet.
create table job_batch (
  job_id text not null references job on delete cascade,
  number integer not null,
  project_id uuid not null,
  contact_ids uuid[] not null,
  primary key (job_id, number)
);
comment on table job_batch is 'The batches of contacts that a bulk action has not handled yet.';

-- The file of an import, kept until its job ends, so that any worker can read it.
create table import_file (
  job_id text primary key references job on delete cascade,
  project_id uuid not null,
  content bytea storage external not null
);
comment on table import_file is 'The file of an open import.';

-- One row for each Temporal workflow that must be started, signalled or cancelled. The row is
-- written in the transaction that requires the request, and deleted when Temporal has accepted the
-- request.
create table outbox (
  -- The workflow id in Temporal.
  run_id text primary key,
  -- Null: mail of the platform to a user.
  project_id uuid,
  -- The workflow type in Temporal.
  kind text not null,
  action text not null check (action in ('start', 'signal', 'cancel')),
  input jsonb not null default '{}',
  summary text not null default '',
  -- The actor that caused the run, stored in the run's memo; null: none.
  caused_by text,
  -- Counts the requests for this run. The first number is random, so that a new row differs from an
  -- earlier one that was sent and deleted.
  generation integer not null default (random() * 1000000000)::int,
  -- From this time on, any process may send the request. Before, only the process that wrote the
  -- row does.
  due_at timestamptz(3) not null default now() + interval '5 seconds',
  -- When the first request was made. Later requests for the same run keep this time.
  created_at timestamptz(3) not null default now(),
  -- Number of times that the entry was claimed to be sent. The number separates entries that wait
  -- for their turn from those that Temporal refuses.
  tries smallint not null default 0
);
comment on table outbox is 'Temporal workflows that must be started, signalled or cancelled.';
create index outbox_due on outbox (due_at);
create index outbox_project on outbox (project_id, due_at);

-- The time up to which each kind of regular work on past rows is done, by the name of the work.
create table watermark (
  name text primary key,
  at timestamptz(3) not null
);
comment on table watermark is 'The time up to which each kind of work on past rows is done.';

insert into watermark (name, at) values ('email_tally', '-infinity');

-- The progress of the daily removal of old bodies, as a message id. Message ids are in order of
-- time, so the removal needs no index of its own.
create table body_retention (
  is_only_row boolean primary key default true check (is_only_row),
  done_to uuid not null default '00000000-0000-0000-0000-000000000000',
  scheduled_done_to timestamptz(3) not null default '-infinity',
  -- Many messages may be scheduled for one time, so the position is a time and an id.
  scheduled_done_id uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on table body_retention is 'One row: the message up to which old bodies are removed.';
comment on column body_retention.scheduled_done_to is 'The scheduled send time up to which bodies '
  'of scheduled mail are removed.';

insert into body_retention default values;

-- Responses stored for repeated requests. The owner is a project, or a user for requests without a
-- project.
create table idempotency (
  owner_id uuid not null,
  -- For a named or public key, the key's id and a tab precede the value. Collation "C", so that an
  -- index finds this prefix.
  key text collate "C" not null,
  request text not null,
  body_hash bytea not null,
  status_code integer,
  -- Encrypted, because the response to a new project contains its secret key.
  response bytea,
  created_at timestamptz(3) not null default now(),
  -- The request ended with an error after some mail was accepted. A repeat of the request need not
  -- wait.
  interrupted boolean not null default false,
  use_id uuid not null,
  renewed_at timestamptz(3),
  -- The only actor to whom the stored response is shown, because it contains a secret; null: it
  -- contains none.
  shown_to text,
  primary key (owner_id, key)
);
comment on table idempotency is 'Responses to requests with an Idempotency-Key, stored for '
  'repeated requests.';
comment on column idempotency.use_id is 'The seed of the ids of the request''s mail; a repeat of '
  'the request has the same seed.';
comment on column idempotency.renewed_at is 'When the running request last renewed its claim of '
  'the key; null: not yet.';
create index idempotency_age on idempotency (created_at);

-- Mail that a request with an idempotency key has accepted before its response is stored. If the
-- process dies, a repeat of the request skips this mail.
create table idempotency_email (
  project_id uuid not null,
  key text collate "C" not null,
  -- Position of the mail among those of the request, from 0 on.
  position integer not null check (position >= 0),
  email_id uuid not null,
  contact_id uuid not null,
  primary key (project_id, key, position),
  foreign key (project_id, key) references idempotency (owner_id, key) on delete cascade
);
comment on table idempotency_email is 'Mail that was accepted under an Idempotency-Key whose request has not ended.';

-- Counters of the request limits. The table is unlogged, because losing them in a crash does no
-- harm.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
comment on table rate_limit is 'Counters of the request limits.';
