-- no transaction

-- What a project is handing over: `email_queue_lease` has that of all projects.
drop index concurrently if exists email_queue_under_way;
create index concurrently email_queue_under_way on email_queue (project_id)
  where lease_until is not null;
