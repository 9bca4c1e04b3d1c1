-- What changes in the row of a message is found by tables of their own. An index on such a column would move the
-- row's entries in all indexes whenever it changes; without one, PostgreSQL changes the row where it is (a HOT
-- update). Triggers keep these tables, because a message changes in many places, and in the version before.
set lock_timeout = 1000;

-- A provider's own list of an account had the address: that says nothing new of the sender.
alter table email add column bounce_listed boolean not null default false,
  add column complaint_listed boolean not null default false;

create table email_moment (
  project_id uuid not null,
  at timestamptz(3) not null,
  email_id uuid not null,
  kind smallint not null,
  primary key (project_id, kind, at, email_id)
);
comment on table email_moment is 'When messages were sent (1: neither FAILED nor received), delivered (2), opened (3), '
  'clicked (4), bounced (5), complained about (6): the feed, and what is counted by time. Bounces (7) and complaints '
  '(8) that came from the provider''s own list of the account are counted once more.';

create table email_queue (
  email_id uuid primary key,
  project_id uuid not null,
  campaign_id uuid,
  due_at timestamptz(3) not null,
  -- While it is being handed over.
  lease_until timestamptz(3),
  -- While the send policy holds it back.
  held_until timestamptz(3),
  hold_reason text
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
comment on table email_queue is 'Messages that wait outside of chunks, or are being handed over outside of them: all but '
  'those of campaigns, and of campaigns what is held back, or of unknown outcome.';
create index email_queue_due on email_queue (project_id, due_at, email_id)
  where campaign_id is null and lease_until is null;
create index email_queue_campaign on email_queue (campaign_id, due_at, email_id)
  where campaign_id is not null;
create index email_queue_lease on email_queue (lease_until) where lease_until is not null;
create index email_queue_held on email_queue (project_id, campaign_id, held_until) include (hold_reason)
  where held_until is not null;

create table provider_message (
  message_id text primary key,
  email_id uuid not null
);
comment on table provider_message is 'The ids that providers have given to messages. Those that our own mailers give '
  'begin with that of the message.';

create table late_mail (
  contact_id uuid not null,
  sent_at timestamptz(3) not null,
  email_id uuid not null,
  primary key (contact_id, sent_at, email_id)
);
comment on table late_mail is 'What counts for frequency caps and was sent more than a day after it was made. The rest is '
  'found by when it was made.';

create function keep_email_moments() returns trigger language plpgsql as $$
declare
  was timestamptz[];
  becomes timestamptz[];
begin
  if tg_op <> 'INSERT' then
    was := array[case when old.status <> 'FAILED' and old.source_type <> 'INBOUND' then old.sent_at end,
      old.delivered_at, old.opened_at, old.clicked_at, old.bounced_at, old.complained_at,
      case when old.bounce_listed then old.bounced_at end,
      case when old.complaint_listed then old.complained_at end];
  end if;
  if tg_op <> 'DELETE' then
    becomes := array[case when new.status <> 'FAILED' and new.source_type <> 'INBOUND' then new.sent_at end,
      new.delivered_at, new.opened_at, new.clicked_at, new.bounced_at, new.complained_at,
      case when new.bounce_listed then new.bounced_at end,
      case when new.complaint_listed then new.complained_at end];
  end if;
  for number in 1..8 loop
    continue when was[number] is not distinct from becomes[number];
    if was[number] is not null then
      delete from email_moment
        where project_id = old.project_id and kind = number and at = was[number] and email_id = old.id;
    end if;
    if becomes[number] is not null then
      insert into email_moment (project_id, kind, at, email_id)
        values (new.project_id, number, becomes[number], new.id)
        on conflict do nothing;
    end if;
  end loop;
  return null;
end
$$;
create trigger email_moments_begin after insert on email for each row
  when (coalesce(new.sent_at, new.delivered_at, new.opened_at, new.clicked_at, new.bounced_at,
    new.complained_at) is not null)
  execute function keep_email_moments();
-- What settles a chunk of messages notes them in the same statement, and says so.
create trigger email_moments_change
  after update of status, sent_at, delivered_at, opened_at, clicked_at, bounced_at, complained_at,
    bounce_listed, complaint_listed on email
  for each row
  when ((old.sent_at is distinct from new.sent_at or old.delivered_at is distinct from new.delivered_at
      or old.opened_at is distinct from new.opened_at or old.clicked_at is distinct from new.clicked_at
      or old.bounced_at is distinct from new.bounced_at
      or old.complained_at is distinct from new.complained_at
      or old.bounce_listed <> new.bounce_listed or old.complaint_listed <> new.complaint_listed
      or (old.status = 'FAILED') <> (new.status = 'FAILED'))
    and current_setting('everpost.noted', true) is distinct from 'together')
  execute function keep_email_moments();
create trigger email_moments_end after delete on email for each row
  when (coalesce(old.sent_at, old.delivered_at, old.opened_at, old.clicked_at, old.bounced_at,
    old.complained_at) is not null)
  execute function keep_email_moments();

-- Mail in chunks is due in 2100: see `dueByChunk`.
create function keep_email_queue() returns trigger language plpgsql as $$
begin
  if new.status = 'SENDING'
      or new.status = 'PENDING' and new.due_at < timestamptz '2100-01-01 00:00:00Z' then
    insert into email_queue as queued
        (email_id, project_id, campaign_id, due_at, lease_until, held_until, hold_reason)
      values (new.id, new.project_id, new.campaign_id, new.due_at,
        case when new.status = 'SENDING' then new.lease_until end,
        case when new.status = 'PENDING' and new.hold_reason is not null then new.held_until end,
        new.hold_reason)
      on conflict (email_id) do update set due_at = excluded.due_at,
        lease_until = excluded.lease_until, held_until = excluded.held_until,
        hold_reason = excluded.hold_reason;
  else
    delete from email_queue where email_id = old.id;
  end if;
  return null;
end
$$;
create trigger email_queue_begin after insert on email for each row
  when (new.status = 'SENDING'
    or new.status = 'PENDING' and new.due_at < timestamptz '2100-01-01 00:00:00Z')
  execute function keep_email_queue();
create trigger email_queue_change
  after update of status, due_at, lease_until, hold_reason, held_until on email for each row
  when ((old.status = 'SENDING' or new.status = 'SENDING'
      or old.status = 'PENDING' and old.due_at < timestamptz '2100-01-01 00:00:00Z'
      or new.status = 'PENDING' and new.due_at < timestamptz '2100-01-01 00:00:00Z')
    and (old.status <> new.status or old.due_at <> new.due_at
      or old.lease_until is distinct from new.lease_until
      or old.hold_reason is distinct from new.hold_reason
      or old.held_until is distinct from new.held_until))
  execute function keep_email_queue();
create trigger email_queue_end after delete on email for each row
  when (old.status in ('PENDING', 'SENDING'))
  execute function keep_email_queue();

create function keep_provider_message() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from provider_message where message_id = old.message_id and email_id = old.id;
  end if;
  if tg_op <> 'DELETE' and left(new.message_id, 36) <> new.id::text then
    insert into provider_message (message_id, email_id) values (new.message_id, new.id);
  end if;
  return null;
end
$$;
create trigger provider_message_begin after insert on email for each row
  when (new.source_type <> 'INBOUND' and left(new.message_id, 36) <> new.id::text)
  execute function keep_provider_message();
create trigger provider_message_change after update of message_id on email for each row
  when (new.source_type <> 'INBOUND' and old.message_id is distinct from new.message_id
    and (left(old.message_id, 36) <> old.id::text or left(new.message_id, 36) <> new.id::text))
  execute function keep_provider_message();
create trigger provider_message_end after delete on email for each row
  when (old.source_type <> 'INBOUND' and left(old.message_id, 36) <> old.id::text)
  execute function keep_provider_message();

create function keep_late_mail() returns trigger language plpgsql as $$
begin
  delete from late_mail where contact_id = old.contact_id and email_id = old.id;
  if tg_op <> 'DELETE' and new.sent_at - new.created_at > interval '24 hours' then
    insert into late_mail (contact_id, sent_at, email_id) values (new.contact_id, new.sent_at, new.id);
  end if;
  return null;
end
$$;
create trigger late_mail_begin after insert on email for each row
  when (new.sent_at - new.created_at > interval '24 hours' and new.message_class = 'MARKETING'
    and new.source_type in ('CAMPAIGN', 'WORKFLOW'))
  execute function keep_late_mail();
create trigger late_mail_change after update of sent_at, created_at on email for each row
  when ((new.sent_at - new.created_at > interval '24 hours'
      or old.sent_at - old.created_at > interval '24 hours')
    and (old.sent_at, old.created_at) is distinct from (new.sent_at, new.created_at)
    and new.message_class = 'MARKETING'
    and new.source_type in ('CAMPAIGN', 'WORKFLOW'))
  execute function keep_late_mail();
create trigger late_mail_end after delete on email for each row
  when (old.sent_at - old.created_at > interval '24 hours' and old.message_class = 'MARKETING'
    and old.source_type in ('CAMPAIGN', 'WORKFLOW'))
  execute function keep_late_mail();

-- Of received mail alone: what makes it arrive once.
alter table email add column received_id text;
create function keep_received_id() returns trigger language plpgsql as $$
begin
  new.received_id := new.message_id;
  return new;
end
$$;
create trigger email_received_id before insert on email for each row
  when (new.source_type = 'INBOUND' and new.received_id is null)
  execute function keep_received_id();

-- What was there before these triggers, page by page; the locks keep each page as it is read.
create procedure fill_mail_tables() language plpgsql as $$
declare
  done uuid := '00000000-0000-0000-0000-000000000000';
begin
  loop
    with page as materialized (
      select id, project_id, contact_id, campaign_id, source_type, message_class, status, message_id, due_at,
          lease_until, hold_reason, held_until, created_at, sent_at, delivered_at, opened_at, clicked_at,
          bounced_at, complained_at, received_id
        from email where id > done order by id limit 2000 for no key update
    ), moments as (
      insert into email_moment (project_id, kind, at, email_id)
        select page.project_id, moment.kind, moment.at, page.id
          from page cross join lateral (values
            (1, case when status <> 'FAILED' and source_type <> 'INBOUND' then sent_at end),
            (2, delivered_at), (3, opened_at), (4, clicked_at), (5, bounced_at), (6, complained_at))
            as moment(kind, at)
          where moment.at is not null
        on conflict do nothing
    ), queued as (
      insert into email_queue (email_id, project_id, campaign_id, due_at, lease_until, held_until,
          hold_reason)
        select id, project_id, campaign_id, due_at, lease_until,
            case when status = 'PENDING' and hold_reason is not null then held_until end, hold_reason
          from page
          where status = 'SENDING'
            or status = 'PENDING' and due_at < timestamptz '2100-01-01 00:00:00Z'
        on conflict do nothing
    ), given as (
      insert into provider_message (message_id, email_id)
        select message_id, id from page
          where source_type <> 'INBOUND' and left(message_id, 36) <> id::text
        on conflict do nothing
    ), late as (
      insert into late_mail (contact_id, sent_at, email_id)
        select contact_id, sent_at, id from page
          where sent_at - created_at > interval '24 hours' and message_class = 'MARKETING'
            and source_type in ('CAMPAIGN', 'WORKFLOW')
        on conflict do nothing
    ), received as (
      update email set received_id = email.message_id
        from page
        where email.id = page.id and page.source_type = 'INBOUND' and page.received_id is null
    )
    select id into done from page order by id desc limit 1;
    exit when done is null;
    commit;
  end loop;
end
$$;

reset lock_timeout;
