-- Ramps: rising daily limits for a new mail provider or sender domain.

create table ramp (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  -- The mail that the ramp counts: mail through this provider, named as in email.provider_id or
  -- `default`, and from this sender domain. Null: any.
  provider_id text,
  domain text,
  start_per_day integer not null check (start_per_day between 1 and 1000000),
  factor double precision not null check (factor between 1 and 3),
  days integer not null check (days between 1 and 90),
  -- The treatment of mail over the limit: it waits (`hold`), or is sent through the next provider of
  -- its route (`next`).
  over text not null default 'hold' check (over in ('hold', 'next')),
  -- The rates in percent at which the ramp stops, and the number of messages from which on rates
  -- count. Null: the ramp never stops.
  bounce_rate double precision,
  complaint_rate double precision,
  min_sent integer,
  status text not null default 'RUNNING'
      check (status in ('RUNNING', 'PAUSED', 'STOPPED', 'DONE')),
  stopped_for text check (stopped_for in ('bounces', 'complaints')),
  -- {stoppedFor, rate}: set when the ramp stops, until the administrators are informed.
  unreported_stop jsonb,
  day integer not null default 1,
  -- Seconds in a day of the ramp: 86400, except in tests.
  day_seconds integer not null default 86400,
  -- End of the current day. Null while the ramp is not running: `day_left_ms` is then the rest of
  -- the day.
  day_ends_at timestamptz(3),
  day_left_ms integer,
  -- The first period whose mail counts for the rates: the period of the last resume.
  judged_from integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- The time by which the ramp's run should have acted; the sweep then signals the run. Null: there
  -- is nothing to do.
  reconcile_at timestamptz(3),
  check (provider_id is not null or domain is not null),
  check ((status = 'STOPPED') = (stopped_for is not null)),
  check ((status = 'RUNNING') = (day_ends_at is not null)),
  check ((status in ('PAUSED', 'STOPPED')) = (day_left_ms is not null))
);
comment on table ramp is 'Rising daily limits of mail by a mail provider, from a sender domain, or both.';
create index ramp_page on ramp (project_id, created_at desc, id desc);
create unique index ramp_unfinished
  on ramp (project_id, coalesce(provider_id, ''), coalesce(domain, '')) where status <> 'DONE';
create index ramp_reconcile on ramp (reconcile_at) where reconcile_at is not null;

-- Messages counted by a ramp, by the period in which they were accepted. A new period begins with
-- each day and with each resume.
create table ramp_period (
  ramp_id uuid not null references ramp on delete cascade,
  number integer not null,
  day integer not null,
  started_at timestamptz(3) not null,
  sent integer not null default 0,
  bounced integer not null default 0,
  complained integer not null default 0,
  primary key (ramp_id, number)
);
comment on table ramp_period is 'Counts of a ramp by period, which a day or a resume begins.';

create table ramp_mail (
  ramp_id uuid not null references ramp on delete cascade,
  email_id uuid not null,
  attempt_id uuid not null,
  primary key (ramp_id, email_id)
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table ramp_mail is 'Claimed mail that a ramp counts, until a later claim adds its '
  'outcome to a period.';
comment on column ramp_mail.attempt_id is 'The attempt that has claimed the message, or the chunk '
  'with the message.';
