-- no transaction

set lock_timeout = 1000;

-- What a step is called in the portable graph of its workflow, whatever its name becomes. Null: not
-- asked for yet, or inserted by the version before, which runs beside; it is made from the name then.
alter table workflow_step add column if not exists key text;
comment on column workflow_step.key is 'What the step is called in the portable graph of its workflow; null: not made from its name yet.';

reset lock_timeout;

drop index concurrently if exists workflow_step_key;
create unique index concurrently workflow_step_key on workflow_step (workflow_id, key)
  where key is not null;
