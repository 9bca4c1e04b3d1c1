-- contract: the version before finds mail by these indexes. They are dropped where it has never run, in a new
-- installation; elsewhere the next version drops them, and until then changes of a message move its entries.
set lock_timeout = 1000;

drop procedure fill_mail_tables();
-- Read by the function below alone.
drop index if exists email_capped;

create or replace function lock_marketing_mail(project uuid, contacts uuid[], own_attempt uuid,
    since timestamptz, most integer)
  returns table (contact_id uuid, sent_at timestamptz) language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(id::text, 15))
      from (select distinct unnest(contacts) as id order by 1) as ordered;
    return query
      select contact.id, sent.sent_at
        from contact cross join lateral (
          select counted.sent_at from (
              select email.sent_at, email.status, email.source_type, email.to_email from email
                where email.contact_id = contact.id and email.message_class = 'MARKETING'
                  and email.source_type in ('CAMPAIGN', 'WORKFLOW') and email.sent_at > since
                  and email.created_at > since - interval '24 hours'
              union all
              select email.sent_at, email.status, email.source_type, email.to_email
                from late_mail join email on email.id = late_mail.email_id
                where late_mail.contact_id = contact.id and late_mail.sent_at > since
                  and email.created_at <= since - interval '24 hours') as counted
            where counted.status <> 'FAILED'
              and (counted.source_type = 'CAMPAIGN' or counted.to_email = contact.email)
            order by counted.sent_at desc limit most) as sent
        where contact.id = any(contacts)
      union all
      select email.contact_id, null
        from email_queue queued join email on email.id = queued.email_id
        join contact on contact.id = email.contact_id
        where queued.project_id = project and queued.lease_until is not null
          and email.contact_id = any(contacts) and email.message_class = 'MARKETING'
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

do $$
begin
  if not exists (select from app_user) then
    drop index email_message_id, email_received, email_due, email_unqueued, email_lease, email_held,
      email_failed, email_sent, email_delivered, email_opened, email_clicked, email_bounced,
      email_complained;
    -- Half of each page is for the row as it is when the message was handed over.
    alter table email set (fillfactor = 50);
  end if;
end
$$;

reset lock_timeout;
