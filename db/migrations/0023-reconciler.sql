-- Every row that a Temporal workflow works on says when to compare it with Temporal: its workflow
-- may be lost, ended by somebody, or stuck.

-- When to look next. For the executions there are: soon.
alter table execution add column next_look_at timestamptz(3) default now();
alter table execution alter column next_look_at set default now() + interval '5 minutes';
-- Since when, and why, its workflow cannot go on.
alter table execution add column stuck_since timestamptz(3), add column stuck_reason text;

alter table domain add column next_look_at timestamptz(3) not null default now();
alter table single_mail add column next_look_at timestamptz(3) not null
  default now() + interval '10 minutes';
alter table project add column next_look_at timestamptz(3);

-- How far work that looks back has come, by name.
create table watermark (
  name text primary key,
  at timestamptz(3) not null
);
comment on table watermark is 'How far work that looks back in time has come.';
