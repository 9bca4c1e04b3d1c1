-- The version before can continue these runs, and reads these events.
update run_format set format = 3 where kind = 'customerWorkflow';
update run_format set format = 2 where kind = 'campaignEvents';

-- Runs of the version before cannot be continued by it once they have had several lanes.
insert into run_format (kind, format)
  select 'deliveryQueue', case when exists (select from app_user) then 1 else 2 end;
