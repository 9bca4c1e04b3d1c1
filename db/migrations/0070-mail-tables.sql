-- no transaction

call fill_mail_tables();

drop index concurrently if exists email_received_once;
create unique index concurrently email_received_once on email (received_id, from_email)
  where received_id is not null;

-- What is FAILED has an error, which is set when it fails and not when it is sent.
drop index concurrently if exists email_with_error;
create index concurrently email_with_error on email (project_id, created_at desc, id desc)
  where error is not null;
