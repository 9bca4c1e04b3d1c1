-- When a segment was last counted or computed: the sweep does it again every few minutes.

alter table segment add column computed_at timestamptz(3) not null default now();
create index segment_due on segment (computed_at);
