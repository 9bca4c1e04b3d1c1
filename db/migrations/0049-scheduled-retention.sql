-- Much mail may be scheduled for one moment: the place is a moment and an id.
alter table body_retention
  add column if not exists scheduled_done_id uuid not null default '00000000-0000-0000-0000-000000000000';
