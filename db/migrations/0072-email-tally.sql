-- How many moments of mail a project had on a day, so that numbers of a long time do not read an entry for each.
-- Days are counted when they are long over. A change of a day that was over for some time is added here by the
-- statement that makes it, counted yet or not: what is added when the day is counted is what is lacking.
set lock_timeout = 1000;

create table email_tally (
  project_id uuid not null,
  kind smallint not null,
  day date not null,
  count bigint not null,
  fresh boolean not null default true
);
comment on table email_tally is 'How many moments of mail there were on a UTC day, before the watermark "email_tally"; '
  'appended to, folded by the sweep.';
create index email_tally_key on email_tally (project_id, kind, day) include (count);
create index email_tally_fresh on email_tally (project_id, kind, day) where fresh;

insert into watermark (name, at) values ('email_tally', '-infinity');

create function tally_email_moment() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into email_tally (project_id, kind, day, count)
      values (new.project_id, new.kind, (new.at at time zone 'UTC')::date, 1);
  else
    insert into email_tally (project_id, kind, day, count)
      values (old.project_id, old.kind, (old.at at time zone 'UTC')::date, -1);
  end if;
  return null;
end
$$;
-- A day is counted two days after it is over: `dayIsCountedAfter` in db/emails/moments.ts.
create trigger email_tally_more after insert on email_moment for each row
  when (new.at < now() - interval '24 hours') execute function tally_email_moment();
create trigger email_tally_less after delete on email_moment for each row
  when (old.at < now() - interval '24 hours') execute function tally_email_moment();

reset lock_timeout;
