-- What a request has accepted under its idempotency key, before it has an answer: whoever repeats
-- it goes on after that.
create table idempotency_email (
  project_id uuid not null,
  key text not null,
  -- Which of the mails of the request it is, from 0 on.
  position integer not null check (position >= 0),
  email_id uuid not null,
  contact_id uuid not null,
  primary key (project_id, key, position),
  foreign key (project_id, key) references idempotency (owner_id, key) on delete cascade
);
comment on table idempotency_email is
  'Mail accepted under an idempotency key whose request has no answer yet';

-- Its request ended with an error after some mail was accepted: the next one need not wait.
alter table idempotency add column interrupted boolean not null default false;
