-- Sending limits, circuits, and the worker processes that deliver.

-- Token buckets of the sending limits: for the server, for each project, and for each mail provider
-- and campaign with its own limit.
create table token_bucket (
  key text primary key,
  tokens double precision not null,
  refilled_at timestamptz not null
);
comment on table token_bucket is 'Token buckets of the sending limits.';

-- Takes tokens from all buckets in `keys`: see `takeSendingTokens`. Urgent mail also reserves
-- tokens in advance. Otherwise campaigns would take each new token while urgent mail is being sent.
create function take_sending_tokens(keys text[], rates double precision[], wanted integer, urgent boolean,
  out granted integer, out wait_ms integer) language plpgsql as $$
declare
  at timestamptz;
  available double precision := wanted;
  reserved double precision := wanted;
  slowest double precision := 0;
  bucket record;
begin
  insert into token_bucket (key, tokens, refilled_at)
    select k, greatest(r - 1, 1), clock_timestamp() from unnest(keys, rates) as t(k, r) order by k
    on conflict do nothing;
  for bucket in
    select b.key, b.tokens, b.refilled_at, t.r as rate
      from token_bucket b join unnest(keys, rates) as t(k, r) on t.k = b.key
      order by b.key for update of b
  loop
    -- If the clock was set back, `at` does not change, so no tokens are lost.
    at := clock_timestamp();
    bucket.tokens := least(greatest(bucket.rate - 1, 1),
      bucket.tokens + greatest(0, extract(epoch from at - bucket.refilled_at)) * bucket.rate);
    update token_bucket set tokens = bucket.tokens, refilled_at = at where key = bucket.key;
    available := least(available, bucket.tokens);
    -- Reserve the tokens of at most a fifth of a second at once, because other urgent mail needs
    -- tokens, too.
    reserved := least(reserved, greatest(1, floor(bucket.rate / 5)));
  end loop;
  granted := greatest(0, floor(available));
  if urgent and wanted > 0 then granted := greatest(granted, reserved); end if;
  update token_bucket set tokens = tokens - granted where key = any (keys) and granted > 0;
  select ceil(greatest(0, max(
      ((case when granted = 0 then 1 else 0 end) - b.tokens) / t.r * 1000)))::int into wait_ms
    from token_bucket b join unnest(keys, rates) as t(k, r) on t.k = b.key;
end
$$;

-- State of a mail provider's circuit. While the provider cannot take mail, all workers together
-- send one message at a time.
create table provider_circuit (
  -- The provider as workers name it: kind and address.
  provider text primary key,
  failures integer not null default 0,
  opened_at timestamptz(3),
  probes integer not null default 0,
  next_probe_at timestamptz(3),
  check ((opened_at is null) = (next_probe_at is null))
);
comment on table provider_circuit is 'Circuits of mail providers. While a provider cannot take '
  'mail, workers send one mail at a time.';
comment on column provider_circuit.failures is 'Consecutive attempts that the provider could not take, up to the one that opened the circuit.';
comment on column provider_circuit.opened_at is 'Since when mail waits for the provider; null: the circuit is closed.';
comment on column provider_circuit.probes is 'Number of mails that were tried without success '
  'since the circuit opened.';
comment on column provider_circuit.next_probe_at is 'When the next mail is tried. While a mail is '
  'tried: when it counts as lost with its process.';

-- Worker processes: each refreshes its own row. The table is unlogged, because workers write their
-- rows again within seconds after a crash of the database.
create unlogged table worker_process (
  id uuid primary key,
  started_at timestamptz(3) not null default now(),
  seen_at timestamptz(3) not null default now(),
  -- When the worker had finished its work after a request to stop.
  stopped_at timestamptz(3),
  -- The provider through which the worker sends, and its limits in messages per second; 0: no
  -- limit.
  provider text not null,
  rate_per_second double precision not null,
  rate_per_project_per_second double precision not null
);
comment on table worker_process is 'Worker processes and when each was last seen.';

-- Mail reports of other servers that were counted, by hour. A project has at most 24 rows: each
-- hour reuses the row of the same hour of the day before.
create table report_count (
  project_id uuid not null,
  -- The hour of the UTC day, 0 to 23.
  slot smallint not null,
  -- The beginning of the counted hour.
  hour timestamptz(3) not null,
  delivered integer not null,
  bounced integer not null,
  delayed integer not null,
  complained integer not null,
  last_at timestamptz(3) not null,
  primary key (project_id, slot)
) with (fillfactor = 70);
comment on table report_count is 'Number of reports of other servers about a project''s mail in '
  'the last 24 hours.';

create table held_release (
  project_id uuid not null primary key references project on delete cascade,
  -- When the send policy or a ramp was last changed.
  before timestamptz(3) not null
);
comment on table held_release is 'Projects whose held mail must become due, because a rule has '
  'changed.';
