-- How often an entry was claimed to be sent: one that waits for its turn in a burst is not one that
-- Temporal does not take.
alter table outbox add column tries smallint not null default 0;
