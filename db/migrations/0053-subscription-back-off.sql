-- no transaction

set lock_timeout = 1000;

-- Requests of different deliveries that have failed since the last success, counted up to those that
-- begin a back-off.
alter table event_subscription add column if not exists failures smallint not null default 0;
-- While its receiver is taken for dead: when the next probe is sent. Null: it is not.
alter table event_subscription add column if not exists probe_at timestamptz;
-- Probes that have failed since.
alter table event_subscription add column if not exists probes integer not null default 0;

reset lock_timeout;

-- What a probe takes: the fewest attempts, of those the oldest. Those never attempted are in the order
-- of event_delivery_due.
drop index concurrently if exists event_delivery_probe;
create index concurrently event_delivery_probe
  on event_delivery (subscription_id, jsonb_array_length(attempts), recorded_at, event_id)
  where status = 'pending' and is_retry;
