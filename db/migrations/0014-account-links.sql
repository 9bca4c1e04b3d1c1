-- A link to choose a new password dies with the password it was asked for, and every link with the
-- address it was sent to. A trigger, because operators change accounts in the database, too, and so
-- does a server of the version before.
create function end_account_links() returns trigger language plpgsql as $$
begin
  update account_token set used_at = now()
    where user_id = new.id and used_at is null
      and (purpose = 'reset_password' or new.email <> old.email or new.type <> old.type);
  return null;
end
$$;
create trigger app_user_links after update of email, type, password_hash on app_user for each row
  when ((old.email, old.type, old.password_hash) is distinct from
    (new.email, new.type, new.password_hash))
  execute function end_account_links();
