-- What concerns very many rows is asked for in one row, and done in pages.

-- All executions of a workflow that began until then are to be cancelled; deleted when they are.
create table workflow_cancellation (
  workflow_id uuid primary key references workflow on delete cascade,
  project_id uuid not null,
  -- To the microsecond, to compare with execution.started_at.
  until timestamptz not null
);
comment on table workflow_cancellation is 'That all executions of a workflow until a moment are to be cancelled.';

-- How many executions before it have caused each other: one that an event of another one starts has
-- one more. Workflows that start each other would never end.
alter table execution add column depth smallint not null default 0;
