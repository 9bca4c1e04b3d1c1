-- Messages of the campaign whose template could not be rendered.
alter table campaign add column rendered_plainly_count integer not null default 0;
comment on column campaign.rendered_plainly_count is
  'Messages whose template could not be rendered: placeholders were replaced, the rest sent as written';
