-- Mail that is urgent takes its share in advance also when a few tokens are there: what comes while it is
-- handed over is not free for campaigns.
create or replace function take_sending_tokens(keys text[], rates double precision[], wanted integer, urgent boolean,
  out granted integer, out wait_ms integer) language plpgsql as $$
declare
  at timestamptz;
  available double precision := wanted;
  ahead double precision := wanted;
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
    -- A clock that was set back takes nothing away.
    at := clock_timestamp();
    bucket.tokens := least(greatest(bucket.rate - 1, 1),
      bucket.tokens + greatest(0, extract(epoch from at - bucket.refilled_at)) * bucket.rate);
    update token_bucket set tokens = bucket.tokens, refilled_at = at where key = bucket.key;
    available := least(available, bucket.tokens);
    -- Not more than a fifth of a second's worth at once: others are urgent, too.
    ahead := least(ahead, greatest(1, floor(bucket.rate / 5)));
  end loop;
  granted := greatest(0, floor(available));
  if urgent and wanted > 0 then granted := greatest(granted, ahead); end if;
  update token_bucket set tokens = tokens - granted where key = any (keys) and granted > 0;
  select ceil(greatest(0, max(
      ((case when granted = 0 then 1 else 0 end) - b.tokens) / t.r * 1000)))::int into wait_ms
    from token_bucket b join unnest(keys, rates) as t(k, r) on t.k = b.key;
end
$$;
