insert into campaign (subject, body, from_name, reply_to, segment_id, audience_type, message_class,
    name, from_email, project_id, total_recipients, audience_condition)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
returning id

insert into campaign_frame (campaign_id, frame, project_id, body)
select id, $1, project_id, $2::jsonb
from campaign
where id = $3
on conflict do nothing

select campaign.archived, campaign.audience_condition, campaign.audience_fixed,
    campaign.audience_type, campaign.body, campaign.bounced_count, campaign.clicked_count,
    campaign.complained_count, campaign.content_version, campaign.created_at,
    campaign.delivered_count, campaign.description, campaign.from_email, campaign.from_name,
    campaign.frozen_at, campaign.frozen_to_at, campaign.frozen_to_id, campaign.id,
    campaign.looked_at, campaign.message_class, campaign.name, campaign.opened_count,
    campaign.paused_reason, campaign.project_id, campaign.refused_in_row, campaign.reply_to,
    campaign.scheduled_for, campaign.segment_id, campaign.sent_at, campaign.sent_count,
    campaign.status, campaign.subject, campaign.template_id, campaign.total_recipients,
    campaign.unsubscribed_count, campaign.updated_at
from campaign
where project_id = $1 and id = $2
for no key update

select campaign.archived, campaign.audience_condition, campaign.audience_fixed,
    campaign.audience_type, campaign.body, campaign.bounced_count, campaign.clicked_count,
    campaign.complained_count, campaign.content_version, campaign.created_at,
    campaign.delivered_count, campaign.description, campaign.from_email, campaign.from_name,
    campaign.frozen_at, campaign.frozen_to_at, campaign.frozen_to_id, campaign.id,
    campaign.looked_at, campaign.message_class, campaign.name, campaign.opened_count,
    campaign.paused_reason, campaign.project_id, campaign.refused_in_row, campaign.reply_to,
    campaign.scheduled_for, campaign.segment_id, campaign.sent_at, campaign.sent_count,
    campaign.status, campaign.subject, campaign.template_id, campaign.total_recipients,
    campaign.unsubscribed_count, campaign.updated_at, segment.name as segment_name
from campaign
left join segment on segment.id = campaign.segment_id
where campaign.id = any($1::uuid[])
order by array_position($2::uuid[], campaign.id)

select campaign.archived, campaign.audience_condition, campaign.audience_fixed,
    campaign.audience_type, campaign.body, campaign.bounced_count, campaign.clicked_count,
    campaign.complained_count, campaign.content_version, campaign.created_at,
    campaign.delivered_count, campaign.description, campaign.from_email, campaign.from_name,
    campaign.frozen_at, campaign.frozen_to_at, campaign.frozen_to_id, campaign.id,
    campaign.looked_at, campaign.message_class, campaign.name, campaign.opened_count,
    campaign.paused_reason, campaign.project_id, campaign.refused_in_row, campaign.reply_to,
    campaign.scheduled_for, campaign.segment_id, campaign.sent_at, campaign.sent_count,
    campaign.status, campaign.subject, campaign.template_id, campaign.total_recipients,
    campaign.unsubscribed_count, campaign.updated_at, segment.name as segment_name
from campaign
left join segment on segment.id = campaign.segment_id
where campaign.project_id = $1 and campaign.id = $2

select campaign_id, frame, body
from campaign_frame
where project_id = $1 and (campaign_id, frame) in (
  select named.campaign_id, named.frame
  from unnest( $2::uuid[], $3::text[]) as named(campaign_id, frame))

select count(*)::int as total
from campaign
where campaign.project_id = $1 and campaign.archived = $2 and true and (strpos(lower(campaign.name),
    lower($3)) > 0 or strpos(lower(campaign.subject), lower($4)) > 0 or
    strpos(lower(campaign.from_email), lower($5)) > 0)

select id
from campaign
where id = $1 and status = $2 and audience_fixed = $3

select id, octet_length(body) + coalesce(octet_length(audience_condition::text), 0) as bytes
from campaign
where campaign.project_id = $1 and campaign.archived = $2 and true and (strpos(lower(campaign.name),
    lower($3)) > 0 or strpos(lower(campaign.subject), lower($4)) > 0 or
    strpos(lower(campaign.from_email), lower($5)) > 0)
order by campaign.created_at desc, campaign.id desc
limit $6 offset $7

select id, project_id, name
from campaign
where id = any($1::uuid[])

select subject, body
from campaign_content
where campaign_id = $1 and version = $2

update campaign
set frozen_to_at = coalesce($1, frozen_to_at), frozen_to_id = coalesce($2, frozen_to_id),
    audience_fixed = $3
where id = $4 and status = 'SENDING' and not audience_fixed and frozen_to_id is not distinct from $5
returning id

update campaign
set looked_at = now()
where id = $1

update campaign
set looked_at = now()
where id in (
  select id
  from campaign
  where looked_at < now() - interval '2 minutes' and (status = 'SENDING' or (status = 'SCHEDULED'
      and scheduled_for < now() - interval '1 minute') or (status = 'CANCELLED' and frozen_at is not
      null and exists (
        select
        from email
        where email.campaign_id = campaign.id and email.status = 'PENDING')))
  limit $1
  for update skip locked)
returning id, project_id, name

update campaign
set sent_count = sent_count + $1, delivered_count = delivered_count + $2, refused_in_row = $3::int,
    status = case when (status = 'SENDING' and $4 > 0 and $5::int >= $6) then 'PAUSED' else status
    end, paused_reason = case when (status = 'SENDING' and $7 > 0 and $8::int >= $9) then
    'provider_failures' else paused_reason end, updated_at = case when (status = 'SENDING' and $10 >
    0 and $11::int >= $12) then now() else updated_at end
where id = $13
returning status

update campaign
set status = $1, frozen_at = clock_timestamp(), updated_at = now()
where id = $2

update campaign
set status = 'SENT', sent_at = now(), updated_at = now(), total_recipients = (
  select count(*)
  from email
  where campaign_id = $1)
where id = $2
returning total_recipients as total

update campaign
set total_recipients = $1, scheduled_for = $2, updated_at = now()
where id = $3

with next as (
  update campaign
  set content_version = content_version + 1
  where id = $1
  returning id, content_version, project_id, subject, body, from_name, reply_to )
insert into campaign_content (campaign_id, version, project_id, subject, body, from_name, reply_to)
select next.id, next.content_version, next.project_id, next.subject, next.body,
    coalesce(next.from_name, project.name), next.reply_to
from next
join project on project.id = next.project_id
