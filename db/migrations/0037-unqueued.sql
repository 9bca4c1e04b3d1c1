-- no transaction

-- Waiting mail of a campaign that is in no chunk comes from versions before chunks alone. Mail in a chunk
-- no longer has an entry. While the version before runs, its looks for such mail read all of the campaign.
drop index concurrently if exists email_unqueued;
create index concurrently email_unqueued on email (campaign_id, due_at, id)
  where status = 'PENDING' and campaign_id is not null and due_at < timestamptz '2100-01-01 00:00:00Z';
drop index concurrently if exists email_campaign_due;
