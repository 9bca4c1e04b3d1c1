-- no transaction

-- The steps that may name a secret: which do is asked for all of a project.
drop index concurrently if exists workflow_step_secret;
create index concurrently workflow_step_secret on workflow_step (project_id, id)
  where type = 'WEBHOOK' and config::text like '%secret.%';
