-- no transaction

-- What counts for frequency caps is found by when it was made (`email_contact`). What was sent more than a day
-- later, or is being handed over, is found here: most mail has no entry.
drop index concurrently if exists email_counted_late;
create index concurrently email_counted_late on email (contact_id, sent_at)
  where message_class = 'MARKETING' and source_type in ('CAMPAIGN', 'WORKFLOW')
    and (sent_at - created_at > interval '24 hours' or status = 'SENDING');

-- The ids that providers have given. Those that we have given ourselves begin with that of the message.
drop index concurrently if exists email_provider_id;
create unique index concurrently email_provider_id on email (message_id)
  where source_type <> 'INBOUND' and left(message_id, 36) <> id::text;
