-- no transaction

-- What other processes left in the outbox is claimed by project: each gets its turn, however much
-- another one has left.
drop index concurrently if exists outbox_project;
create index concurrently outbox_project on outbox (project_id, due_at);
