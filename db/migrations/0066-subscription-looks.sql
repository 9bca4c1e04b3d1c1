-- no transaction

set lock_timeout = 1000;

-- When the sweep looks whether a subscription's run should be told something, and when at what is old.
-- The version before does not set them: then it looks each time, as that one does.
alter table event_subscription add column if not exists look_at timestamptz not null default now();
alter table event_subscription add column if not exists clear_at timestamptz not null default now();

reset lock_timeout;

drop index concurrently if exists event_subscription_look;
create index concurrently event_subscription_look on event_subscription (look_at);

drop index concurrently if exists event_subscription_suspended;
create index concurrently event_subscription_suspended on event_subscription (id) where suspended;

drop index concurrently if exists event_subscription_clear;
create index concurrently event_subscription_clear on event_subscription (clear_at);
