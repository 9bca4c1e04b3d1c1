-- Which request for Temporal's attention is meant: what is noted of an older one changes nothing.

-- Counts what was asked for of this execution: its start is 1, each cancel or retry one more.
alter table execution add column dispatch_generation integer not null default 1;

-- A trigger, because no statement may forget it, nor a process of the version before.
create function count_dispatch() returns trigger language plpgsql as $$
begin
  new.dispatch_generation := old.dispatch_generation + 1;
  return new;
end
$$;
create trigger execution_dispatch_generation before update of dispatch on execution for each row
  when (new.dispatch is not null) execute function count_dispatch();
