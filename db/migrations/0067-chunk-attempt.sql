-- no transaction

-- The chunk of an attempt is found without reading those that wait: a campaign has thousands. Unique: should
-- a claim be repeated because its answer was lost, it fails, and what it had claimed is released.
drop index concurrently if exists campaign_chunk_attempt;
create unique index concurrently campaign_chunk_attempt on campaign_chunk (attempt_id)
  where attempt_id is not null;
