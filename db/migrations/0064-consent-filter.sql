-- no transaction

-- Lists of contacts by the state of their consent.
drop index concurrently if exists contact_consent;
create index concurrently contact_consent on contact (project_id, consent, created_at desc, id desc)
  where consent is not null;
