-- Event subscriptions: the events of a project, sent to addresses of the project.

create table event_subscription (
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null references project (id) on delete cascade,
  url text not null,
  -- Names of events, `<prefix>.*` or `*`.
  events text[] not null,
  description text,
  -- Encrypted JSON object of custom request headers; null: none.
  headers bytea,
  header_names text[] not null default '{}',
  -- Secrets of the project that the headers refer to.
  secret_names text[] not null default '{}',
  -- The secret that signs requests, encrypted.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_expires_at timestamptz(3),
  enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('requested', 'gone', 'failing')),
  paused boolean not null default false,
  -- From this time on, every matching event has a delivery.
  covered_from timestamptz(3),
  failing_since timestamptz(3),
  -- The events read so far are those that this snapshot sees.
  seen pg_snapshot not null default log_snapshot(),
  -- While events are read page by page: the target snapshot, and the last event read.
  reading pg_snapshot,
  read_tx xid8,
  read_id uuid,
  -- Number of entries in `earlier` when the reading of `reading` began.
  read_earlier integer not null default 0,
  -- Earlier values of `events` and `epoch`, for events that were recorded before a change and are
  -- not read yet: [{until: snapshot, events, epoch}], oldest first.
  earlier jsonb not null default '[]',
  -- Increases when the subscription is disabled. Pending deliveries of a lower epoch are skipped.
  epoch integer not null default 0,
  has_outdated boolean not null default false,
  -- Until this time no requests are sent, because the receiver has asked for a pause.
  hold_until timestamptz,
  -- When retries were released: deliveries that were waiting for a retry at that time became due at
  -- once.
  released_at timestamptz,
  -- True if the project was disabled at the last check.
  suspended boolean not null default false,
  -- Id of the activity that sends the requests. No other activity may send.
  lease uuid,
  -- The actor that created the subscription, as `<type>:<id>`.
  created_by text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Number of failed requests since the last success; repeated failures of one delivery count once.
  -- The number stays at `failuresMax`, at which a back-off begins.
  failures smallint not null default 0,
  -- When the next probe is sent; null: the receiver does not count as down.
  probe_at timestamptz,
  -- Number of failed probes in the current back-off.
  probes integer not null default 0,
  -- Maximum number of events in one request, whose body is then a list. null: the body of each
  -- request is one event, without a list.
  batch_max smallint,
  -- Increases when `batch_max` changes: waiting batches are then split.
  batch_turn integer not null default 0,
  -- For a subscription that starts in the past, until its earlier events are read: {from, after}.
  -- `after` is {at, id} of the last event read, or null.
  backlog jsonb,
  -- `next_reconcile_at`: when the sweep next checks if the run needs a signal. `clear_at`: when the
  -- sweep next clears old deliveries.
  next_reconcile_at timestamptz not null default now(),
  clear_at timestamptz not null default now(),
  -- The key that names the subscription in files for version control; null until the first export.
  file_key text collate "C"
);
comment on table event_subscription is 'Addresses to which events of a project are sent, and how '
  'far each has read the events.';
create index event_subscription_project on event_subscription (project_id, created_at, id);
-- Partial: see segment_file_key.
create unique index event_subscription_file_key on event_subscription (project_id, file_key)
  where file_key is not null;
create index event_subscription_keyless on event_subscription (project_id, created_at, id)
  where file_key is null;
create index event_subscription_reconcile on event_subscription (next_reconcile_at);
create index event_subscription_suspended on event_subscription (id) where suspended;
create index event_subscription_clear on event_subscription (clear_at);

create table event_delivery (
  subscription_id uuid not null,
  event_id uuid not null,
  project_id uuid not null,
  contact_id uuid,
  event_name text not null,
  -- Times of the event. `recorded_at` is its position in recorded order.
  created_at timestamptz(3) not null,
  recorded_at timestamptz not null,
  status text not null default 'pending'
      check (status in ('pending', 'delivered', 'failed', 'skipped')),
  reason text check (reason in ('disabled', 'contact_deleted', 'event_deleted', 'expired')),
  epoch integer not null,
  due_at timestamptz not null,
  pending_since timestamptz not null default now(),
  -- Number of failed attempts in the current schedule.
  tries smallint not null default 0,
  -- True while the delivery waits for a retry. Retries are read by a separate query, so that many
  -- new deliveries do not delay them.
  is_retry boolean not null default false,
  -- True if an immediate attempt was requested, even while the subscription is paused or held.
  urgent boolean not null default false,
  -- Increases with each request for an immediate attempt, so that the end of an earlier attempt
  -- does not clear `urgent`.
  turn integer not null default 0,
  -- The last 20 attempts: [{at, statusCode, error, ms}].
  attempts jsonb not null default '[]',
  response text,
  ended_at timestamptz(3),
  updated_at timestamptz(3) not null default now(),
  -- The batch in which the delivery was last sent; null: it was sent alone.
  batch_id uuid,
  -- Equal to the subscription's `batch_turn`: the delivery is retried with its batch. Another
  -- number: the delivery has failed, and is sent alone. Null: it may be sent with any other
  -- deliveries.
  batch_turn integer,
  primary key (subscription_id, event_id)
);
comment on table event_delivery is 'The delivery of one event for one subscription, with its '
  'result but not the event''s data.';
create index event_delivery_due on event_delivery (subscription_id, is_retry, due_at)
  where status = 'pending';
create index event_delivery_contact_due
  on event_delivery (subscription_id, contact_id, recorded_at, event_id)
  where status = 'pending' and contact_id is not null;
create index event_delivery_pending on event_delivery (subscription_id, pending_since)
  where status = 'pending';
create index event_delivery_ended on event_delivery (subscription_id, ended_at)
  where ended_at is not null;
create index event_delivery_list
  on event_delivery (subscription_id, status, recorded_at desc, event_id desc);
create index event_delivery_named
  on event_delivery (subscription_id, event_name, recorded_at desc, event_id desc);
create index event_delivery_contact on event_delivery (contact_id)
  where contact_id is not null;
create index event_delivery_project on event_delivery (project_id);
create index event_delivery_probe
  on event_delivery (subscription_id, jsonb_array_length(attempts), recorded_at, event_id)
  where status = 'pending' and is_retry;
create index event_delivery_batch on event_delivery (subscription_id, batch_id)
  where batch_id is not null and (status = 'pending' or response is not null);
create index event_delivery_response on event_delivery (subscription_id, event_id)
  where response is not null;

create table event_subscription_minute (
  subscription_id uuid not null references event_subscription (id) on delete cascade,
  minute timestamptz(0) not null,
  requests integer not null,
  primary key (subscription_id, minute)
);
comment on table event_subscription_minute is 'Number of requests of each subscription by minute, '
  'kept for a day.';

create table event_delivery_loss (
  id bigint generated always as identity primary key,
  project_id uuid not null,
  contact_id uuid,
  event_name text,
  at timestamptz not null default clock_timestamp()
);
comment on table event_delivery_loss is 'Deleted contacts, and names of deleted events, whose '
  'deliveries are still to be cleared.';
create index event_delivery_loss_project on event_delivery_loss (project_id);

-- A trigger notes deleted contacts, because several statements delete contacts.
create function note_lost_contacts() returns trigger language plpgsql as $$
begin
  insert into event_delivery_loss (project_id, contact_id)
    select project_id, id from gone
      where exists (select from event_delivery where contact_id = gone.id);
  return null;
end
$$;

create trigger contact_lost after delete on contact
  referencing old table as gone for each statement execute function note_lost_contacts();
