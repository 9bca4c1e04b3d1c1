-- What comes back after sending, and mail that is received.

-- Notifications of Amazon SNS that were handled: it may deliver one several times.
create table sns_receipt (
  message_id text primary key,
  created_at timestamptz(3) not null default now()
);
create index sns_receipt_age on sns_receipt (created_at);

-- A received message has one row for each recipient: one provider id, several rows.
drop index email_message_id;
create unique index email_message_id on email (message_id)
  where message_id is not null and source_type <> 'INBOUND';
create unique index email_received on email (message_id, from_email)
  where source_type = 'INBOUND';

-- Mail to the simulator is taken out of what counts for a reputation: there is little of it.
create index email_simulated on email (project_id) where to_email like '%@simulator.test';
