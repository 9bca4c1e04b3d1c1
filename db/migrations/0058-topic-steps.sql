-- no transaction

-- What names a topic, which cannot be deleted then.
drop index concurrently if exists workflow_step_topic;
create index concurrently workflow_step_topic on workflow_step (project_id, (config ->> 'topicId'))
  where config ->> 'topicId' is not null;
drop index concurrently if exists template_topic;
create index concurrently template_topic on template (topic_id) where topic_id is not null;
drop index concurrently if exists campaign_topic;
create index concurrently campaign_topic on campaign (topic_id) where topic_id is not null;
