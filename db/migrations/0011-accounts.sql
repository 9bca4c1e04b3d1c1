-- Logins beside passwords, account mail, removal of projects, and billing.

-- Who the user is to GitHub or Google: addresses change hands, this does not.
alter table app_user add column provider_id text;
create unique index app_user_provider on app_user (type, provider_id) where provider_id is not null;

-- Links of account mails; kept for an hour, used or not, to count them.
create table account_token (
  token_hash bytea primary key,
  user_id uuid not null references app_user on delete cascade,
  purpose text not null check (purpose in ('sign_up', 'verify_email', 'reset_password')),
  used_at timestamptz(3),
  created_at timestamptz(3) not null default clock_timestamp()
);
create index account_token_user on account_token (user_id, purpose, created_at);
create index account_token_age on account_token (created_at);

-- A project that was reset goes on in a new row under the id it is known by, with its settings,
-- keys, members and domains; its old row, and one that was deleted, is out of everybody's reach
-- and stays until all that belongs to it is gone. So both are instant, whatever their size.
-- `public_id`: the id the outside knows, where it is not the row's own.
alter table project
  add column public_id uuid,
  add column removal text check (removal in ('reset', 'delete'));
create unique index project_public_id on project ((coalesce(public_id, id))) where removal is null;
create index project_removal on project ((coalesce(public_id, id)), removal) where removal is not null;

create index attachment_project on attachment (project_id);

-- What a message counts in the bill.
alter table email add column billed_units smallint not null
  generated always as (case when attachments = '[]' then 1 else 2 end) stored;

-- The month in which a message has taken its share of what the project may send; null: not yet,
-- or nothing is limited.
alter table email add column allowance_month date;

-- What was taken of what a project may send: accepted messages that have not failed.
create table allowance (
  project_id uuid not null,
  month date not null,
  category text not null check (category in ('workflows', 'campaigns', 'transactional', 'inbound')),
  taken integer not null,
  primary key (project_id, month, category)
);

create function give_back_allowance() returns trigger language plpgsql as $$
begin
  update allowance set taken = greatest(0, taken - old.billed_units)
    where project_id = old.project_id and month = old.allowance_month
      and category = lower(old.source_type)
        || case when old.source_type in ('WORKFLOW', 'CAMPAIGN') then 's' else '' end;
  return null;
end
$$;
-- Triggers, because a message fails or goes in many places.
create trigger email_failed after update of status on email for each row
  when (new.status = 'FAILED' and old.status <> 'FAILED' and old.allowance_month is not null)
  execute function give_back_allowance();
create trigger email_dropped after delete on email for each row
  when (old.status in ('PENDING', 'SENDING') and old.allowance_month is not null)
  execute function give_back_allowance();

-- Received mail is stored, whatever the limit says; where the month is being counted, it counts.
create function take_inbound_allowance() returns trigger language plpgsql as $$
begin
  update allowance set taken = taken + new.billed_units
    where project_id = new.project_id and category = 'inbound'
      and month = date_trunc('month', now() at time zone 'UTC')::date;
  return null;
end
$$;
create trigger email_inbound after insert on email for each row
  when (new.source_type = 'INBOUND')
  execute function take_inbound_allowance();

-- Counting is for who has a limit. With another limit it starts anew, from the messages themselves.
create function forget_allowance() returns trigger language plpgsql as $$
begin
  delete from allowance where project_id = new.id;
  return null;
end
$$;
create trigger project_limits after update of subscription, billing_limit_workflows,
    billing_limit_campaigns, billing_limit_transactional, billing_limit_inbound
  on project for each row execute function forget_allowance();

-- Sent messages the payment provider has not been told of. They outlive their project: what was
-- sent is billed.
create table usage_report (
  email_id uuid primary key,
  customer text not null,
  units integer not null,
  sent_at timestamptz(3) not null
);
create index usage_report_customer on usage_report (customer);

create function note_usage() returns trigger language plpgsql as $$
begin
  insert into usage_report (email_id, customer, units, sent_at)
    select new.id, project.customer, new.billed_units, new.sent_at
      from project where project.id = new.project_id and project.customer is not null
    on conflict do nothing;
  return null;
end
$$;
create trigger email_sent after update of sent_at on email for each row
  when (old.sent_at is null and new.sent_at is not null)
  execute function note_usage();

-- Months in which the administrators were told that most of a limit is used.
create table allowance_warning (
  project_id uuid not null,
  month date not null,
  category text not null,
  primary key (project_id, month, category)
);

-- Events of the payment provider that were handled.
create table payment_receipt (
  event_id text primary key,
  created_at timestamptz(3) not null default now()
);
create index payment_receipt_age on payment_receipt (created_at);
create index project_customer on project (customer) where customer is not null;
-- The last subscription that has ended: its invoices may still be owed.
alter table project add column last_subscription text;

-- When and why a project was disabled. The rows without an end are the reasons of now, and the project shows the
-- strongest. A trigger, because operators do it in the database, too: they write a reason to add it, and null to
-- lift the one that is shown.
create table suspension (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  reason text not null,
  -- Of PAYMENT_FAILED: the invoices that have failed and are still owed.
  invoices text[] not null default '{}',
  at timestamptz(3) not null default now(),
  ended_at timestamptz(3)
);
create index suspension_project on suspension (project_id, at desc, id desc);
create unique index suspension_open on suspension (project_id, reason) where ended_at is null;

create function strongest_suspension(of_project uuid) returns text stable language sql as $$
  select reason from suspension
    where project_id = of_project and ended_at is null
    order by array_position(array['MANUAL', 'PHISHING_DETECTED', 'CARD_VERIFICATION_FAILED',
      'EMAIL_REPUTATION', 'PAYMENT_FAILED'], reason)
    limit 1
$$;

create function note_suspension() returns trigger language plpgsql as $$
begin
  if new.disabled_reason is null then
    update suspension set ended_at = now()
      where project_id = new.id and reason = old.disabled_reason and ended_at is null;
  else
    insert into suspension (project_id, reason) values (new.id, new.disabled_reason)
      on conflict do nothing;
  end if;
  new.disabled_reason := strongest_suspension(new.id);
  return new;
end
$$;
create trigger project_suspended before update of disabled_reason on project for each row
  when (old.disabled_reason is distinct from new.disabled_reason and new.removal is null)
  execute function note_suspension();
