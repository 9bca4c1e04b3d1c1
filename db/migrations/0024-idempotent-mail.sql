-- The ids of mail follow from the use of the key that it is sent under, and a running request says
-- that it is alive.
alter table idempotency
  -- null: claimed by the version before.
  add column use_id uuid,
  add column renewed_at timestamptz(3);
comment on column idempotency.use_id is
  'The seed of the ids of its mail; a repeat of the same request has the same';
comment on column idempotency.renewed_at is
  'When the running request last said so; null: not since it claimed the key';
