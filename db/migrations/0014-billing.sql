-- Allowances of projects, and the usage reported to the payment provider.

-- Used part of a project's monthly allowance. Failed messages do not count.
create table allowance (
  project_id uuid not null,
  month date not null,
  category text not null check (category in ('workflows', 'campaigns', 'transactional', 'inbound')),
  taken integer not null,
  primary key (project_id, month, category)
);
comment on table allowance is 'Used part of a project''s monthly limit, by category.';

-- Only projects with a limit are counted. When the limit changes, the used part is counted again
-- from the messages.
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
comment on table allowance_warning is 'Warnings to administrators that a limit is nearly used, at '
  'most one per month and category.';

-- Sent messages that are not yet reported to the payment provider. The rows outlive their project,
-- because sent mail is billed.
create table usage_report (
  email_id uuid primary key,
  customer text not null,
  units integer not null,
  sent_at timestamptz(3) not null
);
comment on table usage_report is 'Sent messages that were not reported to the payment provider yet.';
create index usage_report_customer on usage_report (customer);

-- Events of the payment provider that were handled.
create table payment_receipt (
  event_id text primary key,
  created_at timestamptz(3) not null default now()
);
comment on table payment_receipt is 'Notifications of the payment provider that were handled, '
  'kept for 30 days.';
create index payment_receipt_age on payment_receipt (created_at);
