-- no transaction

set lock_timeout = 1000;

alter table email
  -- Which part of the send policy has held it back last, and until when; both stay when it has left.
  add column if not exists hold_reason text,
  add column if not exists held_until timestamptz(3);
comment on column email.hold_reason is 'quiet_hours or frequency_cap: what of the send policy holds it back.';
comment on column email.held_until is 'Until when the send policy holds it back.';

reset lock_timeout;

-- Mail that a policy holds back, for those who count it and for a change of the policy.
drop index concurrently if exists email_held;
create index concurrently email_held on email (project_id, campaign_id, held_until)
  where status = 'PENDING' and hold_reason is not null;

-- What counts for frequency caps: mail that was accepted, and mail that is being handed over.
drop index concurrently if exists email_capped;
create index concurrently email_capped on email (contact_id, sent_at desc)
  where message_class = 'MARKETING' and source_type in ('CAMPAIGN', 'WORKFLOW')
    and (sent_at is not null or status = 'SENDING');
