-- The requests that were made with the keys of each project and by its members.

-- One partition for each day, so that old requests are dropped instead of deleted. The process that
-- stores the first request of a day creates the partition with `make_request_day`.
create table request_log (
  -- The id of the project that the API shows. A reset changes the id of the row, not this one, so a
  -- reset project keeps its requests.
  owner_id uuid not null,
  at timestamptz(3) not null,
  id uuid not null,
  request_id text not null,
  method text not null,
  -- The declared path (with `{id}`), never the requested one; null: the path is unknown.
  route text,
  status smallint not null,
  ms integer not null,
  error_code text,
  -- The caller, as `actorOf` writes actors.
  actor text not null,
  ip text not null,
  -- Use of the Idempotency-Key; null: the request had none.
  idempotency text check (idempotency in ('first', 'replayed', 'refused')),
  -- Number of requests for which this row stands.
  sample integer not null,
  -- Fields and codes of a 422, and details of an error: never values of the request.
  errors jsonb,
  details jsonb,
  primary key (owner_id, at, id)
) partition by range (at);
comment on table request_log is 'Requests of a project, each with its caller, time and result.';
create index request_log_request on request_log (owner_id, request_id, at);
create index request_log_failed on request_log (owner_id, at, id) where status >= 400;

-- Counts that are kept when rows are stored and deleted, because counting a million rows takes too
-- long.
create table request_log_count (
  owner_id uuid not null,
  day date not null,
  rows integer not null,
  primary key (owner_id, day)
);
comment on table request_log_count is 'Number of stored requests of a project and day.';
create index request_log_count_day on request_log_count (day);

-- Makes the partition of a day (UTC). ATTACH does not block those who read or write other days.
create function make_request_day(of_day date) returns void language plpgsql as $$
declare
  name text := 'request_log_' || to_char(of_day, 'YYYYMMDD');
begin
  perform pg_advisory_xact_lock(hashtext('make_request_day'));
  if to_regclass(name) is not null then
    return;
  end if;
  execute format('create table %I (like request_log including all)', name);
  execute format('alter table request_log attach partition %I for values from (%L) to (%L)', name,
    of_day::timestamp at time zone 'utc', (of_day + 1)::timestamp at time zone 'utc');
end
$$;
