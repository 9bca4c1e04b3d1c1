-- The first tables. Why they look like this: docs/data-model.md.

-- Time-ordered ids (RFC 9562, version 7): rows made together lie together in the index.
-- PostgreSQL 18 has uuidv7(); this one also runs on the older servers people bring along.
create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select encode(
    set_bit(set_bit(
      overlay(
        uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
        from 1 for 6),
      52, 1), 53, 1), 'hex')::uuid
$$;

create table app_user (
  id uuid primary key default uuid_v7(),
  email text not null unique,
  type text not null check (type in ('PASSWORD', 'GITHUB_OAUTH', 'GOOGLE_OAUTH')),
  password_hash text,
  email_verified boolean not null,
  session_version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((type = 'PASSWORD') = (password_hash is not null))
);

create table project (
  id uuid primary key default uuid_v7(),
  name text not null,
  public_key text not null unique,
  secret_key_hash bytea not null unique,
  secret_key_last4 text not null,
  webhook_signing_secret bytea not null,
  disabled_reason text check (disabled_reason in
    ('PAYMENT_FAILED', 'EMAIL_REPUTATION', 'PHISHING_DETECTED', 'CARD_VERIFICATION_FAILED', 'MANUAL')),
  tracking text not null default 'ENABLED' check (tracking in ('ENABLED', 'DISABLED', 'MARKETING_ONLY')),
  language text not null default 'en',
  customer text,
  subscription text,
  billing_limit_workflows integer,
  billing_limit_campaigns integer,
  billing_limit_transactional integer,
  billing_limit_inbound integer,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);

create table membership (
  project_id uuid not null references project on delete cascade,
  user_id uuid not null references app_user on delete cascade,
  role text not null check (role in ('OWNER', 'ADMIN', 'MEMBER')),
  -- When a secret key has added the member, or last changed the role; null: none has.
  by_key_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (project_id, user_id)
);
create unique index membership_one_owner on membership (project_id) where role = 'OWNER';
create index membership_user on membership (user_id);

create table domain (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null unique,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  dkim_tokens text[] not null,
  record_statuses jsonb not null default '{}',
  failed_checks integer not null default 0,
  last_checked_at timestamptz(3),
  verified_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index domain_project on domain (project_id, created_at desc, id desc);

create table contact (
  -- Random on purpose: the id is the secret of the public opt-out pages.
  id uuid primary key default gen_random_uuid(),
  project_id uuid not null,
  email text not null,
  subscribed boolean not null,
  data jsonb check (data is null or (jsonb_typeof(data) = 'object' and data <> '{}')),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  unique (project_id, email)
);
create index contact_page on contact (project_id, created_at desc, id desc);

create table event (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  contact_id uuid references contact on delete cascade,
  email_id uuid,
  name text not null,
  data jsonb,
  created_at timestamptz(3) not null default clock_timestamp(),
  -- The moment inside the transaction, after the contact was locked, to the microsecond:
  -- events of one contact have an order, and "recorded after" means what it says.
  recorded_at timestamptz not null default clock_timestamp()
);
create index event_page on event (project_id, created_at desc, id desc);
create index event_name on event (project_id, name, created_at desc, id desc);
create index event_contact on event (contact_id, name, recorded_at);

create table template (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  from_email text,
  from_name text,
  reply_to text,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index template_page on template (project_id, created_at desc, id desc);

create table workflow (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  name text not null,
  description text,
  enabled boolean not null default false,
  trigger_type text not null default 'EVENT' check (trigger_type in ('EVENT', 'MANUAL')),
  trigger_event_name text,
  allow_reentry boolean not null default false,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create index workflow_page on workflow (project_id, created_at desc, id desc);
create index workflow_trigger on workflow (project_id, trigger_event_name)
  where enabled and trigger_type = 'EVENT';

create table workflow_step (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null references workflow on delete cascade,
  type text not null check (type in ('TRIGGER', 'SEND_EMAIL', 'DELAY', 'WAIT_FOR_EVENT',
    'CONDITION', 'WEBHOOK', 'UPDATE_CONTACT', 'EXIT')),
  name text not null,
  position_x double precision not null,
  position_y double precision not null,
  config jsonb not null default '{}',
  template_id uuid references template,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now()
);
create unique index workflow_step_one_trigger on workflow_step (workflow_id) where type = 'TRIGGER';
create index workflow_step_workflow on workflow_step (workflow_id, created_at, id);
create index workflow_step_template on workflow_step (template_id) where template_id is not null;

create table workflow_transition (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null references workflow on delete cascade,
  from_step_id uuid not null references workflow_step on delete cascade,
  to_step_id uuid not null references workflow_step on delete cascade,
  branch text,
  wait_outcome text check (wait_outcome in ('EVENT', 'TIMEOUT')),
  priority integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check (from_step_id <> to_step_id)
);
create unique index workflow_transition_one_way on workflow_transition (from_step_id, coalesce(branch, ''));
create index workflow_transition_to on workflow_transition (to_step_id);
create index workflow_transition_workflow on workflow_transition (workflow_id, created_at, id);

-- What an execution runs on. Written once, never changed.
create table workflow_version (
  workflow_id uuid not null references workflow on delete cascade,
  version integer not null,
  project_id uuid not null,
  graph jsonb not null,
  created_at timestamptz(3) not null default now(),
  primary key (workflow_id, version)
);

create table execution (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  workflow_id uuid not null references workflow on delete cascade,
  workflow_version integer not null,
  workflow_name text not null,
  contact_id uuid not null references contact on delete cascade,
  status text not null default 'RUNNING'
    check (status in ('RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED')),
  current_step_id uuid,
  exit_reason text,
  error text,
  context jsonb,
  temporal_run_id text,
  -- What Temporal has not been told yet, and when to tell it (again).
  dispatch text check (dispatch in ('start', 'cancel')),
  dispatch_at timestamptz(3),
  -- Every change of status: [{at, from, to, detail}], oldest first; kept by a trigger.
  history jsonb not null default '[]',
  -- To the microsecond, to compare with event.recorded_at.
  started_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((dispatch is null) = (dispatch_at is null)),
  foreign key (workflow_id, workflow_version) references workflow_version
);
create unique index execution_one_active on execution (workflow_id, contact_id)
  where status in ('RUNNING', 'WAITING');
create index execution_page on execution (workflow_id, started_at desc, id desc);
create index execution_status on execution (workflow_id, status, started_at desc, id desc);
create index execution_contact on execution (contact_id, workflow_id);
create index execution_project on execution (project_id, started_at desc, id desc);
create index execution_dispatch on execution (dispatch_at) where dispatch is not null;

-- Runs whose execution was deleted before Temporal was told of its end: they wait for something
-- that nobody can send them any more, some of them for ever.
create table orphan_run (
  execution_id uuid primary key,
  project_id uuid not null,
  dispatch_at timestamptz(3) not null default now() + interval '5 seconds'
);
create index orphan_run_dispatch on orphan_run (dispatch_at);

-- A trigger, because executions also go with their contact, workflow or project.
create function keep_orphan_run() returns trigger language plpgsql as $$
begin
  insert into orphan_run (execution_id, project_id) values (old.id, old.project_id)
    on conflict do nothing;
  return null;
end
$$;
create trigger execution_orphan_run after delete on execution for each row
  when (old.dispatch is not null or old.status in ('RUNNING', 'WAITING'))
  execute function keep_orphan_run();

create table step_execution (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  execution_id uuid not null references execution on delete cascade,
  step_id uuid not null,
  status text not null
    check (status in ('PENDING', 'SCHEDULED', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'SKIPPED')),
  scheduled_for timestamptz(3),
  execute_after timestamptz(3),
  output jsonb,
  error text,
  -- Calls of a webhook so far.
  attempts integer not null default 0,
  history jsonb not null default '[]',
  started_at timestamptz(3),
  -- To the microsecond: the next step begins then, and events count from its beginning on.
  completed_at timestamptz,
  -- The event that ended a wait. And when that was recorded, or else when the wait timed out: its run
  -- may have noticed later, and the next wait counts events from then on.
  ending_event_id uuid,
  settled_at timestamptz,
  created_at timestamptz(3) not null default clock_timestamp(),
  updated_at timestamptz(3) not null default clock_timestamp(),
  unique (execution_id, step_id)
);

-- Notes each change of status in the row itself: no statement can forget it, and it costs no
-- second row.
create function note_status() returns trigger language plpgsql as $$
declare
  before jsonb := '[]';
  earlier text;
begin
  if tg_op = 'UPDATE' then
    if new.status = old.status then return new; end if;
    before := old.history;
    earlier := old.status;
  end if;
  new.history := before || jsonb_build_object(
    -- To the microsecond: the changes of an execution and its steps have one order.
    'at', to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'from', earlier,
    'to', new.status,
    'detail', coalesce(new.error, to_jsonb(new) ->> 'exit_reason'));
  return new;
end
$$;
create trigger execution_history before insert or update of status on execution
  for each row execute function note_status();
create trigger step_execution_history before insert or update of status on step_execution
  for each row execute function note_status();

-- Who waits for which event. A row with an event id is claimed: its run must be told.
create table wait (
  step_execution_id uuid primary key references step_execution on delete cascade,
  project_id uuid not null,
  execution_id uuid not null references execution on delete cascade,
  contact_id uuid not null references contact on delete cascade,
  event_name text not null,
  -- An event from then on no longer counts: the time-out came first.
  expires_at timestamptz(3),
  event_id uuid,
  dispatch_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp(),
  check ((event_id is null) = (dispatch_at is null))
);
create index wait_open on wait (contact_id, event_name) where event_id is null;
create index wait_execution on wait (execution_id);
create index wait_dispatch on wait (dispatch_at) where event_id is not null;

-- The ledger: one row for each message to one recipient.
create table email (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  contact_id uuid not null references contact on delete cascade,
  to_name text,
  to_email text not null,
  subject text not null,
  body text,
  from_email text not null,
  from_name text,
  reply_to text,
  headers jsonb not null default '[]',
  attachments jsonb not null default '[]',
  message_class text not null check (message_class in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  source_type text not null check (source_type in ('TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND')),
  template_id uuid,
  campaign_id uuid,
  workflow_execution_id uuid,
  workflow_step_execution_id uuid,
  message_id text,
  status text not null default 'PENDING'
    check (status in ('PENDING', 'SENDING', 'SENT', 'DELIVERED', 'OPENED', 'CLICKED', 'BOUNCED',
      'COMPLAINED', 'FAILED', 'RECEIVED')),
  due_at timestamptz(3) not null default now(),
  attempts integer not null default 0,
  attempt_id uuid,
  lease_until timestamptz(3),
  error text,
  sent_at timestamptz(3),
  delivered_at timestamptz(3),
  opened_at timestamptz(3),
  clicked_at timestamptz(3),
  bounced_at timestamptz(3),
  complained_at timestamptz(3),
  opens integer not null default 0,
  clicks integer not null default 0,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((status = 'SENDING') = (lease_until is not null))
) with (fillfactor = 85);
create unique index email_one_per_campaign_contact on email (campaign_id, contact_id)
  where campaign_id is not null;
create unique index email_one_per_step_execution on email (workflow_step_execution_id)
  where workflow_step_execution_id is not null;
create unique index email_message_id on email (message_id) where message_id is not null;
create index email_page on email (project_id, created_at desc, id desc);
create index email_contact on email (contact_id, created_at desc, id desc);
create index email_execution on email (workflow_execution_id) where workflow_execution_id is not null;
create index email_due on email (project_id, due_at, id)
  where status = 'PENDING' and campaign_id is null;
create index email_campaign_due on email (campaign_id, due_at, id)
  where status = 'PENDING' and campaign_id is not null;
create index email_lease on email (lease_until) where status = 'SENDING';

-- File contents of one request, stored once however many recipients it had;
-- the email rows name them by id.
create table attachment (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  content bytea not null,
  created_at timestamptz(3) not null default now()
);
create index attachment_age on attachment (created_at);

create table job (
  id text primary key,
  project_id uuid not null references project on delete cascade,
  kind text not null check (kind in ('import', 'bulk')),
  state text not null default 'waiting'
    check (state in ('waiting', 'active', 'completed', 'failed', 'cancelled')),
  progress integer not null default 0 check (progress between 0 and 100),
  data jsonb not null,
  result jsonb,
  failed_reason text,
  dispatch text check (dispatch in ('start', 'cancel')),
  dispatch_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  check ((dispatch is null) = (dispatch_at is null))
);
create index job_project on job (project_id, created_at desc);
create index job_dispatch on job (dispatch_at) where dispatch is not null;

-- Answers kept for repeated requests. The owner is a project, or a user for requests without one.
create table idempotency (
  owner_id uuid not null,
  key text not null,
  request text not null,
  body_hash bytea not null,
  status_code integer,
  -- Encrypted: the answer to a new project holds its secret key.
  response bytea,
  created_at timestamptz(3) not null default now(),
  primary key (owner_id, key)
);
create index idempotency_age on idempotency (created_at);

-- Counters of the request limits. Losing them in a crash costs nobody anything.
create unlogged table rate_limit (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);

-- Token buckets of the sending limits: one for the server, one for each project.
create table token_bucket (
  key text primary key,
  tokens double precision not null,
  refilled_at timestamptz not null
);

-- Takes up to `wanted` tokens from all `keys` at once; `rates` are tokens per second. A bucket
-- holds one second's worth less one (at least one): the first message leaves a while after its
-- token was taken, and n messages still take (n - rate) / rate seconds from the first to the last.
-- Answers how many were granted and, when none were, how long until one is. Keys are locked in
-- order, so that two takers never deadlock.
create function take_tokens(keys text[], rates double precision[], wanted integer,
  out granted integer, out wait_ms integer) language plpgsql as $$
declare
  at timestamptz;
  available double precision := wanted;
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
    if bucket.tokens < 1 then
      slowest := greatest(slowest, (1 - bucket.tokens) / bucket.rate * 1000);
    end if;
  end loop;
  granted := floor(available);
  wait_ms := case when granted > 0 then 0 else ceil(slowest) end;
  if granted > 0 then
    update token_bucket set tokens = tokens - granted where key = any (keys);
  end if;
end
$$;

-- Mail caught on a developer's machine instead of being sent.
create table mailbox_message (
  id uuid primary key,
  sender text not null,
  recipient text not null,
  subject text not null,
  raw bytea not null,
  received_at timestamptz(3) not null default clock_timestamp()
);
create index mailbox_message_page on mailbox_message (received_at desc, id desc);
create index mailbox_message_recipient on mailbox_message (recipient, received_at desc, id desc);
