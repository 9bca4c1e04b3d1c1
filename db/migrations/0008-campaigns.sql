-- Campaigns at work: how far the audience is fixed, what was sent, and what came of it.

alter table campaign
  -- How far the audience is fixed: the contact looked at last, and whether it was the last one.
  add column frozen_to_at timestamptz(3),
  add column frozen_to_id uuid,
  add column audience_fixed boolean not null default false,
  -- The newest of its contents: mail that is handed over now gets this one.
  add column content_version integer not null default 0,
  -- Messages the provider has refused since it accepted one.
  add column refused_in_row integer not null default 0,
  -- When its run looked at it last: a campaign that stands still is looked after.
  add column looked_at timestamptz(3) not null default now();

-- What a campaign says, kept once for all its messages: read when it begins to send, and again
-- when it goes on after a pause.
create table campaign_content (
  campaign_id uuid not null references campaign on delete cascade,
  version integer not null,
  project_id uuid not null,
  subject text not null,
  body text not null,
  from_name text not null,
  reply_to text,
  created_at timestamptz(3) not null default now(),
  primary key (campaign_id, version)
);

-- The body of messages that differ in a few values only: texts and the gaps between them,
-- `{texts, slots}`. A slot names what is put there: `contactId`, `emailId`, or a value by number.
-- It outlives its campaign: what was sent can still be read.
create table campaign_frame (
  campaign_id uuid not null,
  -- A hash of its content.
  frame text not null,
  project_id uuid not null,
  body jsonb not null,
  primary key (campaign_id, frame)
);
create index campaign_frame_project on campaign_frame (project_id);

alter table email
  -- The content a campaign's message was made from.
  add column content_version integer,
  -- In place of its body: the frame, and the values in it, as they left.
  add column body_frame text,
  add column body_values jsonb;

create index email_campaign_page on email (campaign_id, created_at desc, id desc)
  where campaign_id is not null;
create index email_failed on email (project_id, created_at desc, id desc)
  where status = 'FAILED';

-- Mail outside the ledger, until it has left: tests of campaigns, and mail of the platform to its
-- users, which may hold secret links.
create table single_mail (
  id uuid primary key default gen_random_uuid(),
  -- None: mail of the platform to a user.
  project_id uuid,
  kind text not null check (kind in ('campaign-test', 'platform-mail')),
  to_email text not null,
  from_email text not null,
  from_name text not null,
  reply_to text,
  subject text not null,
  html text not null,
  attempts integer not null default 0,
  -- Set while it is being handed over.
  attempt_id uuid,
  created_at timestamptz(3) not null default now(),
  check ((project_id is null) = (kind = 'platform-mail'))
);
create index single_mail_project on single_mail (project_id) where project_id is not null;

-- Like `take_tokens`, which workers of the version before still call, with a way to go first.
-- Whoever is `urgent` and finds no token takes the next ones that come, and waits `wait_ms` for
-- them: until then the others find none. What is urgent is served in the order in which it came.
create function take_sending_tokens(keys text[], rates double precision[], wanted integer, urgent boolean,
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
  if granted = 0 and urgent and wanted > 0 then granted := ahead; end if;
  update token_bucket set tokens = tokens - granted where key = any (keys) and granted > 0;
  select ceil(greatest(0, max(
      ((case when granted = 0 then 1 else 0 end) - b.tokens) / t.r * 1000)))::int into wait_ms
    from token_bucket b join unnest(keys, rates) as t(k, r) on t.k = b.key;
end
$$;
