set lock_timeout = 1000;

-- Of a subscription that begins in the past, until it has read what was recorded before it:
-- {from, after: {at, id} of the last event read, or null}.
alter table event_subscription add column if not exists backlog jsonb;

reset lock_timeout;
