-- Goals of campaigns and workflows: the event that their mail should lead to, and how often it
-- happened.

-- The goals of campaigns and workflows (a copy of their `goal`), found by the name of the event. An
-- event that is in no goal costs one look-up.
create table goal (
  project_id uuid not null,
  event_name text not null,
  -- The campaign or workflow that has the goal.
  owner_id uuid not null,
  value_field text,
  window_days integer not null,
  touch text not null,
  primary key (project_id, event_name, owner_id)
);
comment on table goal is 'The goals of campaigns and workflows, by event.';
create unique index goal_owner on goal (owner_id);

-- Triggers keep the table, because code of several folders of `db` creates, copies, changes and
-- deletes campaigns and workflows, and none of this code may write the tables of another folder.
-- These triggers run only when a statement sets "goal" or deletes a row, so sending mail and
-- recording feedback do not pay for them.
create function store_goal() returns trigger language plpgsql as $$
begin
  delete from goal where owner_id = new.id;
  insert into goal (project_id, event_name, owner_id, value_field, window_days, touch)
    select new.project_id, new.goal ->> 'eventName', new.id, new.goal ->> 'valueField',
        (new.goal ->> 'windowDays')::integer, new.goal ->> 'touch'
      where new.goal is not null;
  return null;
end
$$;

create function remove_goal() returns trigger language plpgsql as $$
begin
  delete from goal where owner_id = old.id;
  delete from goal_tally where owner_id = old.id;
  return null;
end
$$;

create trigger campaign_goal_insert after insert on campaign
  for each row when (new.goal is not null) execute function store_goal();
create trigger campaign_goal_update after update of goal on campaign
  for each row when (old.goal is distinct from new.goal) execute function store_goal();
create trigger campaign_goal_delete after delete on campaign
  for each row execute function remove_goal();
create trigger workflow_goal_insert after insert on workflow
  for each row when (new.goal is not null) execute function store_goal();
create trigger workflow_goal_update after update of goal on workflow
  for each row when (old.goal is distinct from new.goal) execute function store_goal();
create trigger workflow_goal_delete after delete on workflow
  for each row execute function remove_goal();

create table conversion (
  event_id uuid primary key,
  project_id uuid not null,
  -- The campaign or workflow of the message.
  owner_id uuid not null,
  email_id uuid not null,
  value numeric not null,
  -- When the event happened.
  at timestamptz(3) not null
);
comment on table conversion is 'Events that are the goal of a campaign or workflow, each with the '
  'message that led to the event.';
create index conversion_project on conversion (project_id, at);
create index conversion_owner on conversion (owner_id, at);
create index conversion_email on conversion (email_id);

create table goal_tally (
  owner_id uuid not null,
  project_id uuid not null,
  converted integer not null,
  conversions integer not null,
  value numeric not null,
  fresh boolean not null default true
);
comment on table goal_tally is 'Number of messages of a campaign or workflow that led to its '
  'goal, with the number and value of the events. Statements add rows, and the sweep merges them.';
create index goal_tally_key on goal_tally (owner_id);
create index goal_tally_fresh on goal_tally (owner_id) where fresh;
create index goal_tally_project on goal_tally (project_id);
