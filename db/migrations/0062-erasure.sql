-- no transaction

-- Erasures of contacts and their receipts. They belong to the public id of the project, which a reset keeps.
set lock_timeout = 1000;

create table if not exists erasure (
  id uuid primary key default gen_random_uuid(),
  owner_id uuid not null,
  -- Whose rows are searched: those of the project when it was asked for.
  rows_of uuid not null,
  -- The contact is not in its project any more: its project_id is the id of the erasure. null once it is over,
  -- like the address.
  contact_id uuid,
  email text,
  state text not null default 'waiting' check (state in ('waiting', 'active', 'completed')),
  -- What is being removed, and where that is; null: from the beginning.
  task text,
  position text,
  counts jsonb not null default '{}',
  requested_at timestamptz(3) not null default clock_timestamp(),
  completed_at timestamptz(3),
  touched_at timestamptz(3) not null default now(),
  receipt_hash text,
  check ((state = 'completed') = (email is null))
);
comment on table erasure is 'Erasures of contacts. What is over is a receipt without personal data.';
create index if not exists erasure_owner on erasure (owner_id);
create index if not exists erasure_open on erasure (touched_at) where state <> 'completed';

reset lock_timeout;

drop index concurrently if exists email_attachments;
create index concurrently email_attachments on email using gin (attachments jsonb_path_ops)
  where attachments <> '[]';
drop index concurrently if exists event_delivery_response;
create index concurrently event_delivery_response on event_delivery (subscription_id, event_id)
  where response is not null;
