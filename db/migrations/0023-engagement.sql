-- Opens and clicks, and if people or machines made them.

create table engagement (
  id bigint generated always as identity,
  project_id uuid not null,
  -- No foreign key: rows are deleted with the message, see db/sql/ledger.ts.
  email_id uuid not null,
  at timestamptz(3) not null,
  -- A HEAD request is neither an open nor a click. It is kept for an hour as evidence for judging
  -- opens and clicks.
  kind text not null check (kind in ('open', 'click', 'head')),
  link text,
  link_id text,
  -- Number of different links in the message; 0: unknown.
  link_count integer not null default 0,
  -- Keyed hash of IP address and user agent; removed after an hour.
  client text,
  -- Facts about the client, stored instead of its IP address and user agent.
  signs text[] not null default '{}',
  verdict text check (verdict in ('human', 'machine', 'unknown')),
  rule text,
  -- When the open or click is judged, for the first time or again; null: it is judged.
  settle_at timestamptz(3),
  primary key (email_id, at, id),
  check (rule is null or verdict in ('machine', 'unknown'))
) with (autovacuum_vacuum_scale_factor = 0.05);
comment on table engagement is 'Requests to the pixel and the links of a message, each with a '
  'verdict: a person or a machine made it. IP address and user agent are not stored.';
comment on column engagement.rule is 'The rule that gave the verdict; null: none did, or there is no verdict yet.';
create index engagement_unsettled on engagement (project_id, settle_at) where settle_at is not null;
create index engagement_client on engagement (at) where client is not null;
