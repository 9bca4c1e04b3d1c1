-- Who is invited to a project and has not accepted. A table of its own: whatever asks who is a member,
-- in this version or the one before, does not find them.
create table invitation (
  project_id uuid not null references project on delete cascade,
  user_id uuid not null references app_user on delete cascade,
  role text not null check (role in ('ADMIN', 'MEMBER')),
  -- As that of `membership`.
  by_key_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  primary key (project_id, user_id)
);
create index invitation_user on invitation (user_id, created_at desc);

-- Nobody is both. A trigger, because a server of the version before makes members, too.
create function end_invitation() returns trigger language plpgsql as $$
begin
  delete from invitation where project_id = new.project_id and user_id = new.user_id;
  return null;
end
$$;
create trigger membership_invitation after insert on membership for each row
  execute function end_invitation();

-- Invitations sent by mail are counted as the links of other account mails are.
alter table account_token drop constraint account_token_purpose_check;
alter table account_token add constraint account_token_purpose_check
  check (purpose in ('sign_up', 'verify_email', 'reset_password', 'invitation', 'members_by_key'));

comment on table invitation is 'Who may become a member of a project by accepting; no member until then.';
