-- How far the daily removal of old bodies has come, by the id of the message: ids are in order of
-- time, so no index of its own is needed.
create table body_retention (
  is_only_row boolean primary key default true check (is_only_row),
  done_to uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into body_retention default values;
