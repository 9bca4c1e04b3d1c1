-- no transaction

set lock_timeout = 1000;

-- Deliveries that a request has at most; null: each has one, and no list around it.
alter table event_subscription add column if not exists batch_max smallint;
-- Grows when that is changed: batches that wait are taken apart.
alter table event_subscription add column if not exists batch_turn integer not null default 0;

-- The batch that it was last sent in; null: it was sent alone.
alter table event_delivery add column if not exists batch_id uuid;
-- That of the subscription: it is tried again with its batch. Another number: it has failed, and goes
-- in a request of its own. Null: it may be sent with others.
alter table event_delivery add column if not exists batch_turn integer;

reset lock_timeout;

-- The others of a batch that waits, or that the receiver has said something about.
drop index concurrently if exists event_delivery_batch;
create index concurrently event_delivery_batch on event_delivery (subscription_id, batch_id)
  where batch_id is not null and (status = 'pending' or response is not null);
