-- Allowances of projects, and reports to their payment provider.

-- The part of a project's allowance that its messages of a month have used. Failed messages do not
-- count.
create table allowance (
  project_id uuid not null,
  month date not null,
  category text not null check (category in ('workflows', 'campaigns', 'transactional', 'inbound')),
  taken integer not null,
  primary key (project_id, month, category)
);
comment on table allowance is 'How much of a month''s limit a project has taken, by category.';

create function give_back_allowance() returns trigger language plpgsql as $$
begin
  update allowance set taken = greatest(0, taken - old.billed_units)
    where project_id = old.project_id and month = old.allowance_month
      and category = lower(old.source_type)
        || case when old.source_type in ('WORKFLOW', 'CAMPAIGN') then 's' else '' end;
  return null;
end
$$;

-- Triggers, because a message fails or is deleted in many places.
create trigger email_failed after update of status on email for each row
  when (new.status = 'FAILED' and old.status <> 'FAILED' and old.allowance_month is not null)
  execute function give_back_allowance();

create trigger email_dropped after delete on email for each row
  when (old.status in ('PENDING', 'SENDING') and old.allowance_month is not null)
  execute function give_back_allowance();

-- Received mail is stored even over the limit. It is added to the use of the month, if that is counted
-- already.
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

-- Only projects with a limit are counted. When the limit changes, counting starts again from the
-- messages.
create function forget_allowance() returns trigger language plpgsql as $$
begin
  delete from allowance where project_id = new.id;
  return null;
end
$$;

create trigger project_limits after update of subscription, billing_limit_workflows,
    billing_limit_campaigns, billing_limit_transactional, billing_limit_inbound
  on project for each row execute function forget_allowance();

-- Months in which administrators were warned that most of a limit is used.
create table allowance_warning (
  project_id uuid not null,
  month date not null,
  category text not null,
  primary key (project_id, month, category)
);
comment on table allowance_warning is 'Warnings to administrators that a limit is nearly used, at most one a month and category.';

-- Sent messages that were not reported to the payment provider yet. They outlive their project,
-- because sent mail is billed.
create table usage_report (
  email_id uuid primary key,
  customer text not null,
  units integer not null,
  sent_at timestamptz(3) not null
);
comment on table usage_report is 'Sent messages that were not reported to the payment provider yet.';
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

-- A statement that settles a chunk of messages records their usage itself. It sets `everpost.noted`,
-- so that this trigger does nothing: for each row, it took a tenth of the cost of a campaign's message.
create trigger email_sent after update of sent_at on email for each row
  when (old.sent_at is null and new.sent_at is not null and new.status <> 'FAILED'
    and current_setting('everpost.noted', true) is distinct from 'together')
  execute function note_usage();

-- A message that its provider rejects after it was counted as sent is not billed.
create function forget_usage() returns trigger language plpgsql as $$
begin
  delete from usage_report where email_id = new.id;
  return null;
end
$$;

create trigger email_rejected after update of status on email for each row
  when (new.status = 'FAILED' and old.status <> 'FAILED' and old.sent_at is not null)
  execute function forget_usage();

-- Handled events of the payment provider.
create table payment_receipt (
  event_id text primary key,
  created_at timestamptz(3) not null default now()
);
comment on table payment_receipt is 'Notifications of the payment provider that were handled; kept 30 days.';
create index payment_receipt_age on payment_receipt (created_at);
