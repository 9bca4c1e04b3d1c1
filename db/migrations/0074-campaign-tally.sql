-- What became of every recipient of a campaign, without reading its mail: messages are counted when they fail, and
-- when they are deleted before they left. Nothing is counted for a message that is sent: `campaign.sent_count` is.
set lock_timeout = 1000;

alter table email
  add column refusal text
    check (refusal in ('provider_refused', 'recipient_refused', 'provider_unavailable'));
comment on column email.refusal is 'Why the provider did not take it; null: it was not refused. Its text is in "error".';

alter table campaign
  add column frozen_count integer not null default 0,
  add column left_unsubscribed integer not null default 0,
  add column left_topic integer not null default 0;
comment on column campaign.frozen_count is 'Messages made for it, also those that were deleted with their contacts.';
comment on column campaign.left_unsubscribed is 'Contacts of its audience without a message: not subscribed when it was fixed.';
comment on column campaign.left_topic is 'Contacts of its audience without a message: they had left its topic.';

create table campaign_tally (
  campaign_id uuid not null,
  project_id uuid not null,
  code text not null,
  count integer not null,
  sent integer not null,
  fresh boolean not null default true
);
comment on table campaign_tally is 'How many messages of a campaign have failed, by refusal or error, and how many of them were '
  'accepted before; appended to, folded by the sweep.';
create index campaign_tally_key on campaign_tally (campaign_id, code) include (count, sent);
create index campaign_tally_fresh on campaign_tally (campaign_id, code) where fresh;

create function tally_campaign_mail() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into campaign_tally (campaign_id, project_id, code, count, sent)
      values (old.campaign_id, old.project_id, case when old.status = 'SENDING' and old.lease_until < now()
        then 'delivery_unknown' else 'contact_deleted' end, 1, 0);
    return null;
  end if;
  if tg_op = 'UPDATE' and old.status = 'FAILED' then
    insert into campaign_tally (campaign_id, project_id, code, count, sent)
      values (old.campaign_id, old.project_id, coalesce(old.refusal, old.error, ''), -1,
        -(old.sent_at is not null)::int);
  end if;
  if new.status = 'FAILED' then
    insert into campaign_tally (campaign_id, project_id, code, count, sent)
      values (new.campaign_id, new.project_id, coalesce(new.refusal, new.error, ''), 1,
        (new.sent_at is not null)::int);
  end if;
  return null;
end
$$;
-- Triggers, because a message fails or goes in many places.
create trigger campaign_tally_begin after insert on email for each row
  when (new.campaign_id is not null and new.status = 'FAILED')
  execute function tally_campaign_mail();
create trigger campaign_tally_change after update of status on email for each row
  when (new.campaign_id is not null and (old.status = 'FAILED') <> (new.status = 'FAILED'))
  execute function tally_campaign_mail();
create trigger campaign_tally_end after delete on email for each row
  when (old.campaign_id is not null and old.status in ('PENDING', 'SENDING'))
  execute function tally_campaign_mail();

reset lock_timeout;
