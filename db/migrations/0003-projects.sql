-- Projects, with their members, secrets and files, and the deletions of their rows that are not
-- finished.

create table project (
  id uuid primary key default uuid_v7(),
  name text not null,
  public_key text not null unique,
  secret_key_hash bytea not null unique,
  secret_key_last4 text not null,
  webhook_signing_secret bytea not null,
  disabled_reason text check (disabled_reason in
      ('PAYMENT_FAILED', 'EMAIL_REPUTATION', 'PHISHING_DETECTED', 'CARD_VERIFICATION_FAILED', 'MANUAL')),
  tracking text not null default 'ENABLED' check (tracking in ('ENABLED', 'DISABLED', 'MARKETING_ONLY')),
  language text not null default 'en',
  customer text,
  subscription text,
  billing_limit_workflows integer,
  billing_limit_campaigns integer,
  billing_limit_transactional integer,
  billing_limit_inbound integer,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- When a project is reset, a new row takes over its public id, settings, keys, members and
  -- domains. The old row, like the row of a deleted project, can no longer be reached; its data are
  -- deleted later. So reset and deletion are instant for projects of any size. `public_id`: the id
  -- that clients see, if it is not the row's own.
  public_id uuid,
  removal text check (removal in ('reset', 'delete')),
  -- The subscription (at the payment provider) that ended last: its invoices may still be unpaid.
  last_subscription text,
  next_reconcile_at timestamptz(3),
  bounce_scope text
      check (bounce_scope in ('marketing', 'all')),
  opt_in_required boolean not null default false,
  opt_in_template_id uuid,
  opt_in_from_email text,
  opt_in_from_name text,
  opt_in_remind_after integer,
  opt_in_expire_after integer not null default 604800,
  consent_policy_at timestamptz(3),
  -- True: members must use a second factor.
  requires_second_factor boolean not null default false,
  -- True: the project's secret key may make members administrators.
  keys_may_name_admins boolean not null default false,
  sign_in_policy_at timestamptz(3),
  -- UTM parameters that links in mail get, `{source, medium, ...}`; null: none.
  utm jsonb,
  -- Only links to these hosts get the UTM parameters; empty: links to any host.
  utm_hosts text[] not null default '{}',
  link_policy_at timestamptz(3)
);
comment on table project is 'Projects, which are the tenants: each owns its other rows.';
comment on column project.bounce_scope is 'The scope of suppression entries after permanent '
  'bounces; null: marketing.';
comment on column project.opt_in_template_id is 'The template of the confirmation mail; null: the built-in text.';
comment on column project.opt_in_remind_after is 'Seconds from the first mail of a request to its reminder; null: there is none.';
comment on column project.opt_in_expire_after is 'Seconds from the last mail of a request to its end.';
comment on column project.consent_policy_at is 'When the consent policy was last set.';
comment on column project.link_policy_at is 'When the link policy was last set.';
create unique index project_public_id on project ((coalesce(public_id, id))) where removal is null;
create index project_removal on project ((coalesce(public_id, id)), removal) where removal is not null;
create index project_customer on project (customer) where customer is not null;

create table membership (
  project_id uuid not null references project on delete cascade,
  user_id uuid not null references app_user on delete cascade,
  role text not null check (role in ('OWNER', 'ADMIN', 'MEMBER')),
  -- The actor that added the member, as `actorOf` writes actors; null for the owner.
  added_by text,
  -- When a secret key added the member or last changed the member's role; null: no secret key did.
  by_key_at timestamptz(3),
  -- The OpenID provider whose rules created the membership; null: no rule did.
  managed_by text,
  created_at timestamptz(3) not null default now(),
  primary key (project_id, user_id)
);
comment on table membership is 'Members of projects, with their roles.';
create unique index membership_one_owner on membership (project_id) where role = 'OWNER';
create index membership_user on membership (user_id);

-- Invitations are a separate table, so that queries about members never find invited users.
create table invitation (
  project_id uuid not null references project on delete cascade,
  user_id uuid not null references app_user on delete cascade,
  role text not null check (role in ('ADMIN', 'MEMBER')),
  -- The actor that invited the user, as in `membership`.
  added_by text,
  by_key_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (project_id, user_id)
);
comment on table invitation is 'Users who become members of a project when they accept.';
create index invitation_user on invitation (user_id, created_at desc);

-- An invitation is deleted when its user becomes a member. A trigger does this, because several
-- statements create members.
create function end_invitation() returns trigger language plpgsql as $$
begin
  delete from invitation where project_id = new.project_id and user_id = new.user_id;
  return null;
end
$$;

create trigger membership_invitation after insert on membership for each row
  execute function end_invitation();

-- The periods in which a project was disabled, with their reasons. Rows without an end are the
-- current reasons, and the project shows the strongest. A trigger keeps the rows, because operators
-- also change the project in the database. They write a reason to add one, and null to remove the
-- reason that is shown.
create table suspension (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  reason text not null,
  -- With the reason PAYMENT_FAILED: the invoices whose payment failed and that are still unpaid.
  invoices text[] not null default '{}',
  at timestamptz(3) not null default now(),
  ended_at timestamptz(3)
);
comment on table suspension is 'Periods in which a project was disabled, with the reasons.';
create index suspension_project on suspension (project_id, at desc, id desc);
create unique index suspension_open on suspension (project_id, reason) where ended_at is null;

create function strongest_suspension(of_project uuid) returns text stable language sql as $$
  select reason from suspension
    where project_id = of_project and ended_at is null
    order by array_position(array['MANUAL', 'PHISHING_DETECTED', 'CARD_VERIFICATION_FAILED',
      'EMAIL_REPUTATION', 'PAYMENT_FAILED'], reason)
    limit 1
$$;

create function note_suspension() returns trigger language plpgsql as $$
begin
  if new.disabled_reason is null then
    update suspension set ended_at = now()
      where project_id = new.id and reason = old.disabled_reason and ended_at is null;
  else
    insert into suspension (project_id, reason) values (new.id, new.disabled_reason)
      on conflict do nothing;
  end if;
  new.disabled_reason := strongest_suspension(new.id);
  return new;
end
$$;

create trigger project_suspended before update of disabled_reason on project for each row
  when (old.disabled_reason is distinct from new.disabled_reason and new.removal is null)
  execute function note_suspension();

-- Credentials for the receivers of webhooks, encrypted. A reset of their project keeps them.
create table secret (
  id uuid primary key default uuid_v7(),
  project_id uuid not null,
  name text not null,
  value bytea not null,
  -- Only requests to these hosts get the secret; null: requests to any host.
  hosts text[],
  updated_at timestamptz(3) not null default now(),
  unique (project_id, name)
);
comment on table secret is 'Credentials for the receivers of webhooks, encrypted.';

create table upload (
  key text primary key,
  owner_id uuid not null,
  bytes bigint not null,
  state text not null default 'storing' check (state in ('storing', 'stored', 'removing')),
  -- The actor that uploaded the file, as `<type>:<id>`.
  created_by text,
  created_at timestamptz(3) not null default now(),
  -- When the sweep deletes a file whose upload was not completed; null: the file is stored.
  remove_at timestamptz(3)
);
comment on table upload is 'Uploaded files, including those that are being stored or removed.';
create index upload_owner on upload (owner_id, created_at, key);
create index upload_due on upload (remove_at) where remove_at is not null;

create table upload_usage (
  owner_id uuid primary key,
  -- Number of stored files.
  files integer not null default 0,
  -- Bytes of all files that count against the upload quota.
  bytes bigint not null default 0
);
comment on table upload_usage is 'Number and bytes of the uploads of a project.';

-- Deleted workflows, segments, topics and lists of recipients whose dependent rows still exist. The
-- sweep deletes these rows in pages, and then the entry.
create table removal (
  -- Id of the deleted workflow, segment, topic or list of recipients.
  id uuid primary key,
  project_id uuid not null,
  kind text not null check (kind in ('workflow', 'segment', 'topic', 'follow_up_list'))
);
comment on table removal is 'Deleted workflows, segments, topics and lists of recipients whose '
  'dependent rows are still to be deleted.';
create index removal_project on removal (project_id);

-- A trigger adds the entry, because workflows, segments and topics are also deleted with their
-- project.
create function note_removal() returns trigger language plpgsql as $$
begin
  insert into removal (id, project_id, kind) values (old.id, old.project_id, tg_table_name)
    -- A segment whose tracking was switched off may have an entry already.
    on conflict do nothing;
  return null;
end
$$;
