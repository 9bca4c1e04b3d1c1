-- Worker processes, each with a row that it refreshes. Unlogged: after a crash of the database the rows
-- are written again within seconds.
create unlogged table worker_process (
  id uuid primary key,
  started_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now(),
  -- When it was asked to stop, and had finished its work.
  stopped_at timestamptz(3),
  -- What it sends through, and the limits that it knows, in messages per second; 0: none.
  provider text not null,
  rate_per_second double precision not null,
  rate_per_project_per_second double precision not null
);
comment on table worker_process is 'Worker processes and when each was last seen.';
