-- Plans: changes of a project by files, computed first and applied later.

create table plan (
  id uuid primary key default uuid_v7(),
  project_id uuid not null references project on delete cascade,
  state text not null default 'open' check (state in ('open', 'applied')),
  -- The request: the encrypted texts of the files by path, and the variables. Null once the plan is
  -- applied.
  files jsonb,
  variables jsonb,
  -- List of {kind, key, id, hash, domains}: the objects that the plan depends on, as they were. Null
  -- once the plan is applied.
  reads jsonb,
  -- As the API shows them.
  summary jsonb not null,
  changes jsonb not null,
  warnings jsonb not null,
  -- Approximate size of an open plan, which limits the plans of a project.
  bytes integer not null,
  created_by text not null,
  -- Null once the plan is applied.
  expires_at timestamptz(3) default now() + interval '7 days',
  applied_by text,
  applied_at timestamptz(3),
  migrate text check (migrate in ('none', 'auto')),
  note text,
  -- {objects, jobs}: the objects that were changed, and the migrations that were started.
  result jsonb,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  check ((state = 'open') = (files is not null and expires_at is not null)),
  check ((state = 'applied') = (result is not null and applied_at is not null))
);
comment on table plan is 'Changes of a project by files: open for seven days, or applied.';
create index plan_page on plan (project_id, created_at, id);
create index plan_state on plan (project_id, state, created_at, id);
create index plan_expiry on plan (expires_at) where expires_at is not null;
