-- no transaction

set lock_timeout = 1000;

alter table email
  -- The time for which it was asked; null: at once. It stays when the mail has left.
  add column if not exists scheduled_for timestamptz(3),
  -- The end of the pause after its last attempt.
  add column if not exists retry_at timestamptz(3);
comment on column email.scheduled_for is 'The time for which it was asked; null: at once.';
comment on column email.retry_at is 'The end of the pause after its last attempt.';

-- Files of scheduled mail are kept longer.
alter table attachment add column if not exists kept_from timestamptz(3);
comment on column attachment.kept_from is 'From when the time of keeping counts; null: from created_at.';

alter table body_retention
  add column if not exists scheduled_done_to timestamptz(3) not null default '-infinity';
comment on column body_retention.scheduled_done_to is 'How far bodies of scheduled mail have been removed, by its scheduled_for.';

reset lock_timeout;

drop index concurrently if exists email_scheduled;
create index concurrently email_scheduled on email (project_id, created_at desc, id desc)
  where scheduled_for is not null;

drop index concurrently if exists email_scheduled_for;
create index concurrently email_scheduled_for on email (scheduled_for, id)
  where scheduled_for is not null;
