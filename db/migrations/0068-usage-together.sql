set lock_timeout = 1000;

-- What settles a chunk of messages notes their usage in the same statement, and says so. For a trigger
-- of each row that was a tenth of what a campaign's message cost.
create or replace trigger email_sent after update of sent_at on email for each row
  when (old.sent_at is null and new.sent_at is not null
    and current_setting('everpost.noted', true) is distinct from 'together')
  execute function note_usage();

-- PostgreSQL 18 has a function of its own, which is cheaper, and ids of one millisecond are in order.
do $$
begin
  if to_regprocedure('uuidv7()') is not null then
    create or replace function uuid_v7() returns uuid language sql parallel safe
      as 'select uuidv7()';
  end if;
end
$$;

reset lock_timeout;
