-- The newest marketing mail of contacts: when it was accepted, or null while it is being handed over, except
-- by the attempt that asks. Locks the contacts until the transaction ends, in order: the mail of a contact is
-- decided about one after the other. A function, because what others have committed before that must be seen.
create function lock_marketing_mail(project uuid, contacts uuid[], own_attempt uuid,
    since timestamptz, most integer)
  returns table (contact_id uuid, sent_at timestamptz) language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(id::text, 15))
      from (select distinct unnest(contacts) as id order by 1) as ordered;
    return query
      select contact.id, sent.sent_at
        from contact cross join lateral (
          select email.sent_at from email
            where email.contact_id = contact.id and email.message_class = 'MARKETING'
              and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at > since
              and email.status <> 'FAILED'
              and (email.source_type = 'CAMPAIGN' or email.to_email = contact.email)
            order by email.sent_at desc limit most) as sent
        where contact.id = any(contacts)
      union all
      select email.contact_id, null
        from email join contact on contact.id = email.contact_id
        where email.contact_id = any(contacts) and email.message_class = 'MARKETING'
          and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at is null
          and email.status = 'SENDING' and email.attempt_id is distinct from own_attempt
          and (email.source_type = 'CAMPAIGN' or email.to_email = contact.email)
      union all
      select email.contact_id, null
        from campaign_chunk chunk cross join unnest(chunk.email_ids) as claimed(id)
        join email on email.id = claimed.id
        where chunk.project_id = project and chunk.attempt_id <> own_attempt
          and email.status = 'PENDING' and email.message_class = 'MARKETING'
          and email.contact_id = any(contacts);
end
$$;
