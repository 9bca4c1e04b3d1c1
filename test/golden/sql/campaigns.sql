insert into campaign (subject, body, from_name, reply_to, segment_id, audience_type, follow_up_list,
    message_class, topic_id, max_per_minute, experiment, name, from_email, audience_condition,
    project_id, total_recipients, created_by)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
returning id

insert into experiment (campaign_id, project_id, started_at)
select id, project_id, frozen_at
from campaign
where id = $1 and experiment is not null

select
from campaign
where project_id = $1 and status = 'SENDING' and max_per_minute is not null and exists (
  select
  from campaign_chunk
  where campaign_id = campaign.id and attempt_id is null and due_at <= now())
limit 1

select attempt_id as attempt, array_to_string(email_ids, ' ') as ids
from campaign_chunk
where attempt_id is not null and lease_until < now()
order by lease_until
limit $1
for update skip locked

select campaign.archived, campaign.assumed_count, campaign.audience_condition,
    campaign.audience_fixed, campaign.audience_type, campaign.body, campaign.bounced_count,
    campaign.clicked_count, campaign.complained_count, campaign.content_version,
    campaign.created_at, campaign.created_by, campaign.delivered_count, campaign.description,
    campaign.experiment, campaign.follow_up, campaign.follow_up_list, campaign.from_email,
    campaign.from_name, campaign.frozen_at, campaign.frozen_count, campaign.frozen_to_at,
    campaign.frozen_to_id, campaign.goal, campaign.held_at, campaign.human_clicked_count,
    campaign.human_opened_count, campaign.id, campaign.late, campaign.left_topic,
    campaign.left_unsubscribed, campaign.local_time, campaign.machine_clicked_count,
    campaign.machine_opened_count, campaign.max_per_minute, campaign.message_class, campaign.name,
    campaign.opened_count, campaign.paused_reason, campaign.project_id, campaign.reconciled_at,
    campaign.refused_in_row, campaign.rendered_plainly_count, campaign.reply_to, campaign.retry,
    campaign.retry_look_at, campaign.scheduled_for, campaign.segment_id, campaign.sent_at,
    campaign.sent_by, campaign.sent_count, campaign.status, campaign.subject, campaign.template_id,
    campaign.topic_id, campaign.total_recipients, campaign.unreported_count,
    campaign.unsubscribed_count, campaign.updated_at, campaign.utm, campaign.zone_policy
from campaign
where project_id = $1 and id = $2
for no key update

select campaign.archived, campaign.assumed_count, campaign.audience_condition,
    campaign.audience_fixed, campaign.audience_type, campaign.body, campaign.bounced_count,
    campaign.clicked_count, campaign.complained_count, campaign.content_version,
    campaign.created_at, campaign.created_by, campaign.delivered_count, campaign.description,
    campaign.experiment, campaign.follow_up, campaign.follow_up_list, campaign.from_email,
    campaign.from_name, campaign.frozen_at, campaign.frozen_count, campaign.frozen_to_at,
    campaign.frozen_to_id, campaign.goal, campaign.held_at, campaign.human_clicked_count,
    campaign.human_opened_count, campaign.id, campaign.late, campaign.left_topic,
    campaign.left_unsubscribed, campaign.local_time, campaign.machine_clicked_count,
    campaign.machine_opened_count, campaign.max_per_minute, campaign.message_class, campaign.name,
    campaign.opened_count, campaign.paused_reason, campaign.project_id, campaign.reconciled_at,
    campaign.refused_in_row, campaign.rendered_plainly_count, campaign.reply_to, campaign.retry,
    campaign.retry_look_at, campaign.scheduled_for, campaign.segment_id, campaign.sent_at,
    campaign.sent_by, campaign.sent_count, campaign.status, campaign.subject, campaign.template_id,
    campaign.topic_id, campaign.total_recipients, campaign.unreported_count,
    campaign.unsubscribed_count, campaign.updated_at, campaign.utm, campaign.zone_policy,
    segment.name as segment_name
from campaign
left join segment on segment.id = campaign.segment_id
where campaign.id = any($1::uuid[])
order by array_position($2::uuid[], campaign.id)

select campaign.archived, campaign.assumed_count, campaign.audience_condition,
    campaign.audience_fixed, campaign.audience_type, campaign.body, campaign.bounced_count,
    campaign.clicked_count, campaign.complained_count, campaign.content_version,
    campaign.created_at, campaign.created_by, campaign.delivered_count, campaign.description,
    campaign.experiment, campaign.follow_up, campaign.follow_up_list, campaign.from_email,
    campaign.from_name, campaign.frozen_at, campaign.frozen_count, campaign.frozen_to_at,
    campaign.frozen_to_id, campaign.goal, campaign.held_at, campaign.human_clicked_count,
    campaign.human_opened_count, campaign.id, campaign.late, campaign.left_topic,
    campaign.left_unsubscribed, campaign.local_time, campaign.machine_clicked_count,
    campaign.machine_opened_count, campaign.max_per_minute, campaign.message_class, campaign.name,
    campaign.opened_count, campaign.paused_reason, campaign.project_id, campaign.reconciled_at,
    campaign.refused_in_row, campaign.rendered_plainly_count, campaign.reply_to, campaign.retry,
    campaign.retry_look_at, campaign.scheduled_for, campaign.segment_id, campaign.sent_at,
    campaign.sent_by, campaign.sent_count, campaign.status, campaign.subject, campaign.template_id,
    campaign.topic_id, campaign.total_recipients, campaign.unreported_count,
    campaign.unsubscribed_count, campaign.updated_at, campaign.utm, campaign.zone_policy,
    segment.name as segment_name
from campaign
left join segment on segment.id = campaign.segment_id
where campaign.project_id = $1 and campaign.id = $2

select case when email.status = 'FAILED' then case when coalesce(email.refusal, email.error) in
    ('provider_refused', 'recipient_refused', 'provider_unavailable', 'contact_unsubscribed',
    'topic_unsubscribed', 'suppressed', 'held_out', 'frequency_cap', 'late', 'billing_limit',
    'domain_not_verified', 'project_disabled', 'campaign_cancelled', 'execution_ended', 'cancelled',
    'message_too_large', 'no_provider', 'contact_deleted', 'restored', 'delivery_unknown') then
    coalesce(email.refusal, email.error) else 'provider_refused' end when email.status not in
    ('PENDING', 'SENDING') then null when case email.status when 'SENDING' then email.lease_until <
    now() when 'PENDING' then email.campaign_id is not null and email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = $1::uuid and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end then 'delivery_unsettled' when case when
      email.status in ('PENDING', 'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end = 'PAUSED' then 'campaign_paused' when case when
      email.status in ('PENDING', 'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end = 'UNDECIDED' then 'experiment' when email.status
      = 'SENDING' or (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = $2::uuid and inner_claimed.attempt_id is not null)) then
        'queued' else coalesce((
    select reason
    from (
      values ('schedule', email.scheduled_for, 1), ('retry', email.retry_at, 2),
          (coalesce(email.hold_reason, 'quiet_hours'), email.held_until, 3)) as hold(reason, until,
          place)
    where until > now()
    order by until desc, place
    limit 1), 'queued') end as code, status = 'FAILED' as "isFailed", count(*)::int as count,
        count(sent_at)::int as sent, count(delivered_at)::int as delivered, count(*) filter (
  where delivery_unreported)::int as unreported, count(*) filter (
  where delivery_unreported and delivered_at is null and bounced_at is null)::int as assumed,
      count(opened_at)::int as opened, count(clicked_at)::int as clicked,
      count(email.human_opened_at)::int as "humanOpened", count(email.human_clicked_at)::int as
      "humanClicked", count(*) filter (
  where email.opened_by_machines)::int as "machineOpened", count(*) filter (
  where email.clicked_by_machines)::int as "machineClicked", count(bounced_at)::int as bounced,
      count(complained_at)::int as complained, count(*) filter (
  where status = 'PENDING' and held_until > now())::int as held, count(*) filter (
  where trace @> '[{state: rendered_plainly}]')::int as "renderedPlainly"
from email
where template_id = $3 and project_id = $4
group by 1, 2

select case when frozen_count > $1 then frozen_count - coalesce((
    select sum(gone)
    from campaign_tally
    where campaign_id = $2), 0)::int else (
  select count(*)::int
  from email
  where campaign_id = $3 ) end as count
from campaign
where id = $4

select case when least( (
    select due_at
    from campaign_chunk
    where campaign_id = $1 and attempt_id is null and due_at < $2::timestamptz
    order by due_at
    limit 1), (
    select due_at
    from (
      select inner_unqueued.due_at, inner_unqueued.email_id
      from email_queue inner_unqueued
      where inner_unqueued.campaign_id = $3 and inner_unqueued.lease_until is null) waiting
    order by due_at
    limit 1)) is not null then least(case when least( (
      select due_at
      from campaign_chunk
      where campaign_id = $4 and attempt_id is null and due_at < $5::timestamptz
      order by due_at
      limit 1), (
      select due_at
      from (
        select inner_unqueued.due_at, inner_unqueued.email_id
        from email_queue inner_unqueued
        where inner_unqueued.campaign_id = $6 and inner_unqueued.lease_until is null) waiting
      order by due_at
      limit 1)) is not null then greatest(0, ceil(extract(epoch from least( (
            select due_at
            from campaign_chunk
            where campaign_id = $7 and attempt_id is null and due_at < $8::timestamptz
            order by due_at
            limit 1), (
            select due_at
            from (
              select inner_unqueued.due_at, inner_unqueued.email_id
              from email_queue inner_unqueued
              where inner_unqueued.campaign_id = $9 and inner_unqueued.lease_until is null) waiting
            order by due_at
            limit 1)) - clock_timestamp()) * 1000)::float8) end, $10) end as "nextDueMs", case when
                (
  select retry_look_at
  from campaign
  where id = $11) is not null then least(case when (
    select retry_look_at
    from campaign
    where id = $12) is not null then greatest(0, ceil(extract(epoch from (
          select retry_look_at
          from campaign
          where id = $13) - clock_timestamp()) * 1000)::float8) end, $14) end as "retryMs", exists (
  select
  from campaign_chunk
  where campaign_id = $15 and attempt_id is not null) or exists (
  select
  from email_queue
  where campaign_id = $16 and lease_until is not null) as "isUnsettled", exists (
  select
  from mail_routing inner_routing
  where inner_routing.project_id = (
    select project_id
    from campaign
    where id = $17)) as "isRouted"

select content.subject, content.body, topic.key as "topicKey", content.utm, content.utm_hosts as
    "utmHosts", campaign.name as "campaignName", template.name as "templateName"
from campaign_content as content
inner join campaign on campaign.id = content.campaign_id
left join topic on topic.id = campaign.topic_id
left join template on template.id = content.template_id
where content.campaign_id = $1 and content.version = $2 and content.arm = $3

select count(*)::int as total
from campaign
where campaign.project_id = $1 and campaign.archived = $2 and true and (strpos(lower(campaign.name),
    lower($3)) > 0 or strpos(lower(campaign.subject), lower($4)) > 0 or
    strpos(lower(campaign.from_email), lower($5)) > 0)

select email.allowance_month, email.attachments, email.attempt_id, email.attempts,
    email.billed_units, email.bounce_listed, email.bounced_at, email.campaign_id, email.clicked_at,
    email.clicked_by_machines, email.clicks, email.complained_at, email.complaint_listed,
    email.contact_id, email.content_version, email.converted_at, email.created_at,
    email.delivered_at, email.delivery_unreported, email.derived_events, email.due_at, email.error,
    email.from_email, email.from_name, email.handed_over_at, email.headers, email.hold_reason,
    email.human_clicked_at, email.human_opened_at, email.id, email.lease_until, email.link_ids,
    email.message_class, email.message_id, email.opened_at, email.opened_by_machines, email.opens,
    email.opt_in_id, email.project_id, email.ramp_id, email.received_id, email.refusal,
    email.reply_to, email.retried_at, email.retry_at, email.scheduled_for, email.sent_at,
    email.source_type, email.subject, email.template_id, email.to_email, email.to_name,
    email.topic_id, email.unsubscribed_at, email.updated_at, email.waits_for,
    email.workflow_execution_id, email.workflow_step_execution_id, email.workflow_step_id, case when
    (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, case when email.hold_reason
      = 'warm_up' then coalesce((
    select inner_holding_ramp.day_ends_at
    from ramp inner_holding_ramp
    where inner_holding_ramp.id = email.ramp_id), email.held_until) else email.held_until end as
        held_until, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, (case when email.status =
        'PENDING' and email.campaign_id is not null then coalesce((
      select inner_own -> 'providerId'
      from campaign_chunk inner_holder
      cross join jsonb_array_elements(inner_holder.routed) as inner_own
      where inner_holder.project_id = email.project_id and inner_holder.attempt_id is not null and
          email.id = any(inner_holder.email_ids) and inner_own -> 'emailIds' ? email.id::text),
          to_jsonb(email.provider_id)) #>> '{}' else email.provider_id end) as provider_id,
          coalesce(caused_by, (
    select inner_sent.sent_by
    from campaign inner_sent
    where inner_sent.id = email.campaign_id), (
    select inner_started.caused_by
    from execution inner_started
    where inner_started.id = email.workflow_execution_id)) as caused_by, (
  select inner_named.key from topic inner_named
  where inner_named.id = email.topic_id) as topic_key, (body is not null or body_values is not null)
      as has_body
from email
where project_id = $1 and true
order by created_at desc, id desc
limit $2

select email.allowance_month, email.attachments, email.attempt_id, email.attempts,
    email.billed_units, email.bounce_listed, email.bounced_at, email.campaign_id, email.clicked_at,
    email.clicked_by_machines, email.clicks, email.complained_at, email.complaint_listed,
    email.contact_id, email.content_version, email.converted_at, email.created_at,
    email.delivered_at, email.delivery_unreported, email.derived_events, email.due_at, email.error,
    email.from_email, email.from_name, email.handed_over_at, email.headers, email.hold_reason,
    email.human_clicked_at, email.human_opened_at, email.id, email.lease_until, email.link_ids,
    email.message_class, email.message_id, email.opened_at, email.opened_by_machines, email.opens,
    email.opt_in_id, email.project_id, email.ramp_id, email.received_id, email.refusal,
    email.reply_to, email.retried_at, email.retry_at, email.scheduled_for, email.sent_at,
    email.source_type, email.subject, email.template_id, email.to_email, email.to_name,
    email.topic_id, email.unsubscribed_at, email.updated_at, email.waits_for,
    email.workflow_execution_id, email.workflow_step_execution_id, email.workflow_step_id, case when
    (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, case when email.hold_reason
      = 'warm_up' then coalesce((
    select inner_holding_ramp.day_ends_at
    from ramp inner_holding_ramp
    where inner_holding_ramp.id = email.ramp_id), email.held_until) else email.held_until end as
        held_until, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, (case when email.status =
        'PENDING' and email.campaign_id is not null then coalesce((
      select inner_own -> 'providerId'
      from campaign_chunk inner_holder
      cross join jsonb_array_elements(inner_holder.routed) as inner_own
      where inner_holder.project_id = email.project_id and inner_holder.attempt_id is not null and
          email.id = any(inner_holder.email_ids) and inner_own -> 'emailIds' ? email.id::text),
          to_jsonb(email.provider_id)) #>> '{}' else email.provider_id end) as provider_id,
          coalesce(caused_by, (
    select inner_sent.sent_by
    from campaign inner_sent
    where inner_sent.id = email.campaign_id), (
    select inner_started.caused_by
    from execution inner_started
    where inner_started.id = email.workflow_execution_id)) as caused_by, (
  select inner_named.key from topic inner_named
  where inner_named.id = email.topic_id) as topic_key, (body is not null or body_values is not null)
      as has_body, trace, id as email_id, body, body_template, body_values
from email
where project_id = $1 and id = $2

select email.id, email.contact_id, email.workflow_execution_id, email.created_at,
    email.scheduled_for, email.retry_at, email.hold_reason, email.held_until, email.error,
    email.refusal, email.opens, email.clicks, email.sent_at, email.delivered_at, email.opened_at,
    email.clicked_at, email.human_opened_at, email.human_clicked_at, email.bounced_at,
    email.converted_at, case when (email.status = 'PENDING' and email.campaign_id is not null and
    email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, coalesce(receiver.email,
      email.to_email) as address, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, email.arm is not null as
        is_in_test
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and
      inner_checked.bounced_at is not null and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) found
cross join lateral (
  select inner_found.id, inner_found.contact_id, inner_found.workflow_execution_id,
      inner_found.created_at, inner_found.scheduled_for, inner_found.retry_at,
      inner_found.hold_reason, inner_found.held_until, inner_found.error, inner_found.refusal,
      inner_found.opens, inner_found.clicks, inner_found.sent_at, inner_found.delivered_at,
      inner_found.opened_at, inner_found.clicked_at, inner_found.human_opened_at,
      inner_found.human_clicked_at, inner_found.bounced_at, inner_found.converted_at,
      inner_found.project_id, inner_found.campaign_id, inner_found.arm, inner_found.to_email,
      inner_found.status, inner_found.lease_until, inner_found.complained_at,
      inner_found.unsubscribed_at
  from email inner_found
  where inner_found.id = found.id offset 0) email
left join lateral (
  select inner_receiver.email
  from contact inner_receiver
  where inner_receiver.id = email.contact_id and inner_receiver.project_id = email.project_id offset
      0) receiver on true
where (email.bounced_at is not null)
order by found.created_at desc, found.id desc
limit $4

select email.id, email.contact_id, email.workflow_execution_id, email.created_at,
    email.scheduled_for, email.retry_at, email.hold_reason, email.held_until, email.error,
    email.refusal, email.opens, email.clicks, email.sent_at, email.delivered_at, email.opened_at,
    email.clicked_at, email.human_opened_at, email.human_clicked_at, email.bounced_at,
    email.converted_at, case when (email.status = 'PENDING' and email.campaign_id is not null and
    email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, coalesce(receiver.email,
      email.to_email) as address, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, email.arm is not null as
        is_in_test
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and true and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) found
cross join lateral (
  select inner_found.id, inner_found.contact_id, inner_found.workflow_execution_id,
      inner_found.created_at, inner_found.scheduled_for, inner_found.retry_at,
      inner_found.hold_reason, inner_found.held_until, inner_found.error, inner_found.refusal,
      inner_found.opens, inner_found.clicks, inner_found.sent_at, inner_found.delivered_at,
      inner_found.opened_at, inner_found.clicked_at, inner_found.human_opened_at,
      inner_found.human_clicked_at, inner_found.bounced_at, inner_found.converted_at,
      inner_found.project_id, inner_found.campaign_id, inner_found.arm, inner_found.to_email,
      inner_found.status, inner_found.lease_until, inner_found.complained_at,
      inner_found.unsubscribed_at
  from email inner_found
  where inner_found.id = found.id offset 0) email
left join lateral (
  select inner_receiver.email
  from contact inner_receiver
  where inner_receiver.id = email.contact_id and inner_receiver.project_id = email.project_id offset
      0) receiver on true
where true
order by found.created_at desc, found.id desc
limit $4

select email.id, email.contact_id, email.workflow_execution_id, email.created_at,
    email.scheduled_for, email.retry_at, email.hold_reason, email.held_until, email.error,
    email.refusal, email.opens, email.clicks, email.sent_at, email.delivered_at, email.opened_at,
    email.clicked_at, email.human_opened_at, email.human_clicked_at, email.bounced_at,
    email.converted_at, case when (email.status = 'PENDING' and email.campaign_id is not null and
    email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, coalesce(receiver.email,
      email.to_email) as address, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, email.arm is not null as
        is_in_test
from (
  select inner_checked.id, inner_checked.created_at
  from email inner_checked
  where inner_checked.template_id = $1 and inner_checked.project_id = $2 and true and true
  order by inner_checked.created_at desc, inner_checked.id desc
  limit $3) found
cross join lateral (
  select inner_found.id, inner_found.contact_id, inner_found.workflow_execution_id,
      inner_found.created_at, inner_found.scheduled_for, inner_found.retry_at,
      inner_found.hold_reason, inner_found.held_until, inner_found.error, inner_found.refusal,
      inner_found.opens, inner_found.clicks, inner_found.sent_at, inner_found.delivered_at,
      inner_found.opened_at, inner_found.clicked_at, inner_found.human_opened_at,
      inner_found.human_clicked_at, inner_found.bounced_at, inner_found.converted_at,
      inner_found.project_id, inner_found.campaign_id, inner_found.arm, inner_found.to_email,
      inner_found.status, inner_found.lease_until, inner_found.complained_at,
      inner_found.unsubscribed_at
  from email inner_found
  where inner_found.id = found.id offset 0) email
left join lateral (
  select inner_receiver.email
  from contact inner_receiver
  where inner_receiver.id = email.contact_id and inner_receiver.project_id = email.project_id offset
      0) receiver on true
where (email.opened_at is not null)
order by found.created_at desc, found.id desc
limit $4

select email.id, email.contact_id, email.workflow_execution_id, email.created_at,
    email.scheduled_for, email.retry_at, email.hold_reason, email.held_until, email.error,
    email.refusal, email.opens, email.clicks, email.sent_at, email.delivered_at, email.opened_at,
    email.clicked_at, email.human_opened_at, email.human_clicked_at, email.bounced_at,
    email.converted_at, case when (email.status = 'PENDING' and email.campaign_id is not null and
    email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null))
        then 'SENDING' else email.status end as status, case when email.status in ('PENDING',
        'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end as campaign_status, case email.status when
      'SENDING' then email.lease_until < now() when 'PENDING' then email.campaign_id is not null and
      email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = email.project_id and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end as is_unsettled, coalesce(receiver.email,
      email.to_email) as address, coalesce(email.arm, case when email.campaign_id is not null then (
    select inner_decided.arm
    from experiment inner_decided
    where inner_decided.campaign_id = email.campaign_id) end) as arm, email.arm is not null as
        is_in_test
from (
  select part.id, part.created_at
  from ((
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $1 and inner_checked.project_id = $2 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $3) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $4)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $5 and inner_checked.project_id = $6 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $7) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $8)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $9 and inner_checked.project_id = $10 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $11) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $12)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $13 and inner_checked.project_id = $14 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $15) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $16)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $17 and inner_checked.project_id = $18 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $19) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $20)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $21 and inner_checked.project_id = $22 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $23) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $24)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $25 and inner_checked.project_id = $26 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $27) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $28)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $29 and inner_checked.project_id = $30 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $31) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $32)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $33 and inner_checked.project_id = $34 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $35) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $36)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $37 and inner_checked.project_id = $38 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $39) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $40)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $41 and inner_checked.project_id = $42 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $43) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $44)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $45 and inner_checked.project_id = $46 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $47) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $48)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $49 and inner_checked.project_id = $50 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $51) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $52)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $53 and inner_checked.project_id = $54 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $55) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $56)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $57 and inner_checked.project_id = $58 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $59) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $60)
    union all (
      select inner_checked.id, inner_checked.created_at
      from email inner_checked
      where inner_checked.campaign_id = $61 and inner_checked.project_id = $62 and
          (inner_checked.status = 'FAILED' and inner_checked.error is not null and
          left(coalesce(inner_checked.refusal, inner_checked.error), 40) = $63) and true
      order by inner_checked.created_at desc, inner_checked.id desc
      limit $64)) part
  order by part.created_at desc, part.id desc
  limit $65) found
cross join lateral (
  select inner_found.id, inner_found.contact_id, inner_found.workflow_execution_id,
      inner_found.created_at, inner_found.scheduled_for, inner_found.retry_at,
      inner_found.hold_reason, inner_found.held_until, inner_found.error, inner_found.refusal,
      inner_found.opens, inner_found.clicks, inner_found.sent_at, inner_found.delivered_at,
      inner_found.opened_at, inner_found.clicked_at, inner_found.human_opened_at,
      inner_found.human_clicked_at, inner_found.bounced_at, inner_found.converted_at,
      inner_found.project_id, inner_found.campaign_id, inner_found.arm, inner_found.to_email,
      inner_found.status, inner_found.lease_until, inner_found.complained_at,
      inner_found.unsubscribed_at
  from email inner_found
  where inner_found.id = found.id offset 0) email
left join lateral (
  select inner_receiver.email
  from contact inner_receiver
  where inner_receiver.id = email.contact_id and inner_receiver.project_id = email.project_id offset
      0) receiver on true
where ((((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $66)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $67)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $68)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $69)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $70)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $71)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $72)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $73)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $74)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $75)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $76)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $77)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $78)) or ((email.status = 'FAILED' and email.error is not null and
    left(coalesce(email.refusal, email.error), 40) = $79)) or ((email.status = 'FAILED' and
    email.error is not null and left(coalesce(email.refusal, email.error), 40) = $80)) or
    ((email.status = 'FAILED' and email.error is not null and left(coalesce(email.refusal,
    email.error), 40) = $81))))
order by found.created_at desc, found.id desc
limit $82

select id
from campaign
where id = $1 and status = $2 and audience_fixed = $3

select id, message_id, project_id, contact_id, to_email, (case when email.status = 'PENDING' and
    email.campaign_id is not null then coalesce((
      select inner_own -> 'providerId'
      from campaign_chunk inner_holder
      cross join jsonb_array_elements(inner_holder.routed) as inner_own
      where inner_holder.project_id = email.project_id and inner_holder.attempt_id is not null and
          email.id = any(inner_holder.email_ids) and inner_own -> 'emailIds' ? email.id::text),
          to_jsonb(email.provider_id)) #>> '{}' else email.provider_id end) as provider_id
from email
where source_type <> $1 and id = any($2::uuid[])

select id, octet_length(body) + coalesce(octet_length(audience_condition::text), 0) as bytes
from campaign
where campaign.project_id = $1 and campaign.archived = $2 and true and (strpos(lower(campaign.name),
    lower($3)) > 0 or strpos(lower(campaign.subject), lower($4)) > 0 or
    strpos(lower(campaign.from_email), lower($5)) > 0)
order by campaign.created_at desc, campaign.id desc
limit $6 offset $7

select id, project_id, contact_id, campaign_id, template_id, source_type, subject, from_email,
    from_name, to_email, status, error, message_id, sent_at, delivered_at, opened_at, clicked_at,
    bounced_at, complained_at, unsubscribed_at, bounce_listed, complaint_listed, opens, clicks,
    derived_events, delivery_unreported, (case when email.status = 'PENDING' and email.campaign_id
    is not null then coalesce((
      select inner_own -> 'providerId'
      from campaign_chunk inner_holder
      cross join jsonb_array_elements(inner_holder.routed) as inner_own
      where inner_holder.project_id = email.project_id and inner_holder.attempt_id is not null and
          email.id = any(inner_holder.email_ids) and inner_own -> 'emailIds' ? email.id::text),
          to_jsonb(email.provider_id)) #>> '{}' else email.provider_id end) as provider_id, exists (
  select
  from ramp inner_ramp
  where inner_ramp.project_id = email.project_id and inner_ramp.status <> 'DONE') as has_ramp,
      attempts + (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not
        null))::int as attempts, (coalesce(lease_until > now(), false) or (email.status = 'PENDING'
        and email.campaign_id is not null and email.id in (
      select unnest(inner_claimed.email_ids)
      from campaign_chunk inner_claimed
      where inner_claimed.project_id = email.project_id and inner_claimed.attempt_id is not null)))
          as is_under_way, (email.id = any($1::uuid[]) and exists (
    select
    from event inner_open_event
    where inner_open_event.contact_id = email.contact_id and inner_open_event.name = 'email.open'
        and inner_open_event.email_id = email.id and inner_open_event.recorded_at >
        clock_timestamp() - make_interval(secs => $2))) as was_opened_lately,
        jsonb_path_query_array(trace, '$[*].state') as traced, clock_timestamp() as now
from email
where id = any($3::uuid[])
order by id
for update

select id, project_id, name
from campaign
where id = any($1::uuid[])

select max_per_minute as "maxPerMinute", (campaign.message_class = 'MARKETING' and (exists (
      select
      from send_policy inner_policy
      where inner_policy.project_id = campaign.project_id and (inner_policy.quiet_hours is not null
          or inner_policy.caps <> '[]')) or exists (
      select
      from holdout inner_holdout
      where inner_holdout.project_id = campaign.project_id and inner_holdout.slots > 0 and
          (inner_holdout.ends_at is null or inner_holdout.ends_at > now()))) or exists (
    select
    from ramp inner_ramp
    where inner_ramp.project_id = campaign.project_id and inner_ramp.status <> 'DONE')) as
        "isPoliced", exists (
  select
  from mail_routing inner_routing
  where inner_routing.project_id = campaign.project_id) as "isRouted", experiment is not null as
      "hasExperiment"
from campaign
where id = $1

select retry as retry
from campaign
where id = $1 and status = $2 and retry_look_at <= now()

select step.step_id as "stepId", email.status = 'FAILED' as "isFailed", case when email.status =
    'FAILED' then case when coalesce(email.refusal, email.error) in ('provider_refused',
    'recipient_refused', 'provider_unavailable', 'contact_unsubscribed', 'topic_unsubscribed',
    'suppressed', 'held_out', 'frequency_cap', 'late', 'billing_limit', 'domain_not_verified',
    'project_disabled', 'campaign_cancelled', 'execution_ended', 'cancelled', 'message_too_large',
    'no_provider', 'contact_deleted', 'restored', 'delivery_unknown') then coalesce(email.refusal,
    email.error) else 'provider_refused' end when email.status not in ('PENDING', 'SENDING') then
    null when case email.status when 'SENDING' then email.lease_until < now() when 'PENDING' then
    email.campaign_id is not null and email.id in (
  select unnest(inner_expired.email_ids)
  from campaign_chunk inner_expired
  where inner_expired.project_id = $1::uuid and inner_expired.attempt_id is not null and
      inner_expired.lease_until < now()) else false end then 'delivery_unsettled' when case when
      email.status in ('PENDING', 'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end = 'PAUSED' then 'campaign_paused' when case when
      email.status in ('PENDING', 'SENDING') then (
  select case when inner_mailing.status = 'SENDING' and inner_mailing.experiment is not null and
      email.arm is null and exists (
    select
    from experiment inner_undecided
    where inner_undecided.campaign_id = inner_mailing.id and inner_undecided.decided_at is null)
        then 'UNDECIDED' else inner_mailing.status end
  from campaign inner_mailing
  where inner_mailing.id = email.campaign_id) end = 'UNDECIDED' then 'experiment' when email.status
      = 'SENDING' or (email.status = 'PENDING' and email.campaign_id is not null and email.id in (
    select unnest(inner_claimed.email_ids)
    from campaign_chunk inner_claimed
    where inner_claimed.project_id = $2::uuid and inner_claimed.attempt_id is not null)) then
        'queued' else coalesce((
    select reason
    from (
      values ('schedule', email.scheduled_for, 1), ('retry', email.retry_at, 2),
          (coalesce(email.hold_reason, 'quiet_hours'), email.held_until, 3)) as hold(reason, until,
          place)
    where until > now()
    order by until desc, place
    limit 1), 'queued') end as code, count(*)::int as count, count(email.sent_at)::int as sent,
        count(email.delivered_at)::int as delivered, count(email.opened_at)::int as opened,
        count(email.clicked_at)::int as clicked, count(email.bounced_at)::int as bounced,
        count(email.human_opened_at)::int as "humanOpened", count(email.human_clicked_at)::int as
        "humanClicked", count(*) filter (
  where email.opened_by_machines)::int as "machineOpened", count(*) filter (
  where email.clicked_by_machines)::int as "machineClicked"
from execution
join step_execution step on step.execution_id = execution.id
join email on email.workflow_step_execution_id = step.id
where execution.workflow_id = $3 and step.step_id = any($4::uuid[])
group by 1, 2, 3

update campaign
set frozen_to_at = coalesce($1, frozen_to_at), frozen_to_id = coalesce($2, frozen_to_id),
    audience_fixed = $3, frozen_count = frozen_count + $4, total_recipients = frozen_count + $5,
    left_unsubscribed = left_unsubscribed + $6, left_topic = left_topic + $7
where id = $8 and status in ('SENDING', 'PAUSED') and not audience_fixed and frozen_to_id is not
    distinct from $9
returning id

update campaign
set reconciled_at = now()
where id = $1

update campaign
set status = $1, frozen_at = clock_timestamp(), updated_at = now()
where id = $2

update campaign
set status = 'SENT', sent_at = coalesce(sent_at, now()), updated_at = now()
where id = $1
returning total_recipients as total

update campaign
set total_recipients = $1, scheduled_for = $2, sent_by = $3, local_time = $4, late = $5, updated_at
    = now()
where id = $6

with candidate as (
  select id, name, subject, frozen_at, audience_type, segment_id, audience_condition,
      follow_up_list, message_class, topic_id, coalesce((
      select inner_judged.fixed_at
      from audience_page inner_judged
      where inner_judged.campaign_id = campaign.id and (inner_judged.to_at, inner_judged.to_id) >=
          ($1, $2::uuid)
      order by inner_judged.to_at, inner_judged.to_id
      limit 1), case when campaign.audience_fixed or campaign.status = 'CANCELLED' then
          campaign.frozen_at end, clock_timestamp()) as judged_at
  from campaign
  where project_id = $3 and frozen_at >= $4 and true
  order by frozen_at desc, id desc
  limit $5 )
select id, name, subject, to_char(frozen_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as
    at, frozen_at, audience_type, segment_id, audience_condition, follow_up_list, message_class, not
    exists (
  select
  from email
  where campaign_id = candidate.id and contact_id = $6) as "hasNone", not coalesce((
    select inner_consent.name = 'contact.unsubscribed'
    from event inner_consent
    where inner_consent.contact_id = $7::uuid and inner_consent.recorded_at > candidate.judged_at
        and inner_consent.name in ('contact.subscribed', 'contact.unsubscribed')
    order by inner_consent.recorded_at
    limit 1), $8::boolean) as "isOut", case when candidate.topic_id is null then false else
        coalesce((
    select inner_change.name = 'contact.topic.subscribed'
    from event inner_change
    where inner_change.contact_id = $9::uuid and inner_change.recorded_at > candidate.judged_at and
        inner_change.name in ('contact.topic.subscribed', 'contact.topic.unsubscribed') and
        inner_change.data ->> 'topic' = (
      select inner_changed.key from topic inner_changed
      where inner_changed.id = candidate.topic_id)
    order by inner_change.recorded_at
    limit 1), case when candidate.topic_id is null then false else coalesce((
      select not coalesce((
          select inner_choice.subscribed
          from contact_topic inner_choice
          where inner_choice.contact_id = $10::uuid and inner_choice.topic_id = inner_topic.id),
              inner_topic.by_default)
      from topic inner_topic
      where inner_topic.id = candidate.topic_id), false) end) end as "hadLeft"
from candidate
order by frozen_at desc, id desc

with due as (
  select campaign_id, number, project_id, email_ids, due_at
  from campaign_chunk
  where campaign_id = $1 and attempt_id is null and due_at <= now() and exists (
    select
    from campaign
    where id = $2 and status = 'SENDING' and held_at is null and ($3 or not (campaign.message_class
        = 'MARKETING' and (exists (
            select
            from send_policy inner_policy
            where inner_policy.project_id = campaign.project_id and (inner_policy.quiet_hours is not
                null or inner_policy.caps <> '[]')) or exists (
            select
            from holdout inner_holdout
            where inner_holdout.project_id = campaign.project_id and inner_holdout.slots > 0 and
                (inner_holdout.ends_at is null or inner_holdout.ends_at > now()))) or exists (
          select
          from ramp inner_ramp
          where inner_ramp.project_id = campaign.project_id and inner_ramp.status <> 'DONE'))))
  order by due_at, number
  limit 1
  for update skip locked ), rest as (
  insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
  select campaign_id, project_id, email_ids[$4::int + 1:], due_at
  from due
  where cardinality(email_ids) > $5::int ), claimed as (
  update campaign_chunk as chunk
  set email_ids = array(
    select id
    from email
    where id = any(due.email_ids[:$6::int]) and status = 'PENDING'), attempt_id = $7, waits_for =
        null, claimed_at = now(), lease_until = now() + make_interval(secs => $8)
  from due
  where chunk.campaign_id = due.campaign_id and chunk.number = due.number
  returning chunk.email_ids, due.due_at, chunk.claimed_at )
select to_char(due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "dueAt",
    to_char(claimed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "claimedAt", (
  select jsonb_build_object('maxPerMinute', inner_campaign.max_per_minute, 'refusedInRow',
      inner_campaign.refused_in_row, 'contentVersion', inner_content.version, 'contentArm',
      inner_content.arm, 'fromName', inner_content.from_name, 'replyTo', inner_content.reply_to,
      'topicId', inner_campaign.topic_id, 'isProjectDisabled', inner_project.disabled_reason is not
      null, 'language', inner_project.language, 'tracking', inner_project.tracking, 'trackingHost',
      (
      select inner_tracked.tracking_subdomain || '.' || inner_tracked.name
      from domain inner_tracked
      where inner_tracked.project_id = inner_content.project_id and inner_tracked.name =
          split_part(inner_content.from_email, '@', -1) and inner_tracked.status = 'verified' and
          inner_tracked.tracking_active), 'hasBadge', inner_project.subscription is null,
          'hasSuppressions', exists (
      select
      from suppression_key inner_key where inner_key.owner_id = coalesce(inner_project.public_id,
          inner_project.id)))
  from campaign inner_campaign
  join campaign_content inner_content on inner_content.campaign_id = inner_campaign.id and
      inner_content.version = inner_campaign.content_version and inner_content.arm = case when
      inner_campaign.experiment is null then '' else coalesce( (
      select inner_armed.arm
      from email inner_armed
      where inner_armed.id = claimed.email_ids[1]), (
      select inner_won.arm
      from experiment inner_won
      where inner_won.campaign_id = inner_campaign.id), inner_campaign.experiment -> 'arms' -> 0 ->>
          'id') end
  join project inner_project on inner_project.id = inner_campaign.project_id
  where inner_campaign.id = $9) as shared, (
  select coalesce(json_agg(message
      order by message.id), '[]')
  from (
    select inner_mail.id, inner_mail.contact_id, inner_mail.to_email, inner_mail.from_email,
        inner_mail.message_class, inner_mail.attempts + 1 as attempts, extract(epoch from
        inner_mail.created_at) * 1000 as created_at, extract(epoch from inner_mail.scheduled_for) *
        1000 as scheduled_for, extract(epoch from inner_mail.held_until) * 1000 as held_until, case
        when inner_mail.attempts > 0 then jsonb_path_query_first(inner_mail.trace, '$[*] ? (@.state
        == handed_over && @.at >= $since)', jsonb_build_object('since',
        coalesce(to_char(inner_mail.retried_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        ''))) ->> 'at' end as first_attempt_at, inner_mail.billed_units, inner_mail.allowance_month,
        inner_mail.provider_id, (inner_mail.attempts > 0 and inner_mail.trace @> '[{state:
        settled}]') as is_bound, inner_receiver.email as contact_email, inner_receiver.subscribed as
        contact_subscribed, inner_receiver.data as contact_data, ((inner_mail.scheduled_for is not
        null or inner_mail.held_until is not null or inner_mail.retried_at is not null) and not
        exists (
        select
        from domain inner_domain
        where inner_domain.project_id = inner_mail.project_id and inner_domain.status = 'verified'
            and inner_domain.name = split_part(inner_mail.from_email, '@', -1))) as sender_gone,
            inner_receiver.project_id <> inner_mail.project_id as contact_gone, case when
            inner_mail.topic_id is null then false else coalesce((
        select not coalesce((
            select inner_choice.subscribed
            from contact_topic inner_choice
            where inner_choice.contact_id = inner_mail.contact_id and inner_choice.topic_id =
                inner_topic.id), inner_topic.by_default)
        from topic inner_topic
        where inner_topic.id = inner_mail.topic_id), false) end as topic_left
    from email inner_mail
    join contact inner_receiver on inner_receiver.id = inner_mail.contact_id
    where inner_mail.id = any(claimed.email_ids) and inner_mail.status = 'PENDING') as message) as
        emails
from claimed

with failed as materialized (
  select code, sum(count)::int as count, sum(sent)::int as sent
  from campaign_tally
  where campaign_id = $1
  group by code having sum(count) <> 0 ), queued as materialized (
  select (
    select count(*)::int
    from email_queue
    where campaign_id = $2) as count, (
    select count(*)::int
    from email_queue
    where project_id = $3 and campaign_id = $4 and lease_until < now()) as unsettled, count(*)
        filter (
    where hold_reason = 'quiet_hours')::int as quiet_hours, count(*) filter (
    where hold_reason = 'frequency_cap')::int as frequency_cap, count(*) filter (
    where hold_reason = 'warm_up')::int as warm_up, count(*) filter (
    where hold_reason = 'operator')::int as operator
  from email_queue
  where project_id = $5 and campaign_id = $6 and held_until > now() ), size as materialized (
  select campaign.id, campaign.frozen_count - campaign.sent_count - coalesce((
      select sum(count - sent)
      from failed), 0) - queued.count = coalesce((
      select sum(cardinality(email_ids))
      from campaign_chunk
      where campaign_id = $7), 0) as "isExact"
  from campaign, queued
  where campaign.id = $8 and campaign.project_id = $9 ), chunk as materialized (
  select case when size."isExact" then cardinality(email_ids) else (
    select count(*)
    from email
    where email.id = any(campaign_chunk.email_ids) and email.status = 'PENDING') end as count,
        campaign_chunk.attempt_id is not null as "isUnsettled", campaign.local_time is not null and
        exists (
    select
    from email
    where email.id = any(campaign_chunk.email_ids) and email.scheduled_for = campaign_chunk.due_at)
        as "isOfMoment"
  from size
  join campaign on campaign.id = size.id
  join campaign_chunk on campaign_id = campaign.id
  where campaign_chunk.attempt_id is null and campaign_chunk.due_at > now() and
      campaign_chunk.due_at < $10::timestamptz or campaign_chunk.lease_until < now() )
select campaign.archived, campaign.assumed_count, campaign.audience_condition,
    campaign.audience_fixed, campaign.audience_type, campaign.body, campaign.bounced_count,
    campaign.clicked_count, campaign.complained_count, campaign.content_version,
    campaign.created_at, campaign.created_by, campaign.delivered_count, campaign.description,
    campaign.experiment, campaign.follow_up, campaign.follow_up_list, campaign.from_email,
    campaign.from_name, campaign.frozen_at, campaign.frozen_count, campaign.frozen_to_at,
    campaign.frozen_to_id, campaign.goal, campaign.held_at, campaign.human_clicked_count,
    campaign.human_opened_count, campaign.id, campaign.late, campaign.left_topic,
    campaign.left_unsubscribed, campaign.local_time, campaign.machine_clicked_count,
    campaign.machine_opened_count, campaign.max_per_minute, campaign.message_class, campaign.name,
    campaign.opened_count, campaign.paused_reason, campaign.project_id, campaign.reconciled_at,
    campaign.refused_in_row, campaign.rendered_plainly_count, campaign.reply_to, campaign.retry,
    campaign.retry_look_at, campaign.scheduled_for, campaign.segment_id, campaign.sent_at,
    campaign.sent_by, campaign.sent_count, campaign.status, campaign.subject, campaign.template_id,
    campaign.topic_id, campaign.total_recipients, campaign.unreported_count,
    campaign.unsubscribed_count, campaign.updated_at, campaign.utm, campaign.zone_policy, (
  select coalesce(jsonb_agg(failed), '[]')
  from failed) as failures, queued.quiet_hours, queued.frequency_cap, queued.warm_up,
      queued.operator, queued.unsettled + (
  select coalesce(sum(count) filter (
      where "isUnsettled"), 0)
  from chunk)::int as unsettled, (
  select coalesce(sum(count) filter (
      where "isOfMoment" and not "isUnsettled"), 0)
  from chunk)::int as scheduled, (
  select coalesce(sum(count) filter (
      where not "isOfMoment" and not "isUnsettled"), 0)
  from chunk)::int as retrying, case when campaign.experiment is not null and exists (
  select
  from experiment
  where experiment.campaign_id = campaign.id and decided_at is null) then queued.count + (
  select count(*)::int
  from campaign_chunk tested
  join email on email.id = any(tested.email_ids) and email.status = 'PENDING'
  where tested.campaign_id = campaign.id and tested.due_at < $11::timestamptz) end as testing
from size
join campaign on campaign.id = size.id, queued

with next as (
  update campaign
  set content_version = content_version + 1
  where id = $1
  returning id, content_version, project_id, subject, body, from_email, from_name, reply_to,
      template_id, utm, experiment )
insert into campaign_content (campaign_id, version, arm, project_id, subject, body, from_email,
    from_name, reply_to, template_id, utm, utm_hosts)
select next.id, next.content_version, coalesce(arm.id, ''), next.project_id, coalesce(arm.subject,
    next.subject), coalesce(arm.body, next.body), coalesce(arm.
  from, next.from_email), coalesce(arm."fromName", next.from_name, project.name),
      coalesce(arm."replyTo", next.reply_to), coalesce(arm."templateId", next.template_id),
      nullif(jsonb_strip_nulls(coalesce(project.utm, '{}') || coalesce(next.utm, '{}')), '{}'),
      project.utm_hosts
from next
join project on project.id = next.project_id
left join jsonb_to_recordset(next.experiment -> 'arms') as arm(id text, subject text, body text,
  from text, "fromName" text, "replyTo" text, "templateId" uuid) on true

with page as (
  select ctid as row, campaign_id, code
  from campaign_tally
  where fresh
  limit $1 ), unfolded as (
  delete from campaign_tally
  where ctid = any(array(
      select row
      from page))
  returning campaign_tally.campaign_id, campaign_tally.code, campaign_tally.count,
      campaign_tally.fresh, campaign_tally.gone, campaign_tally.gone_clicked,
      campaign_tally.gone_delivered, campaign_tally.gone_human_clicked,
      campaign_tally.gone_human_opened, campaign_tally.gone_opened, campaign_tally.project_id,
      campaign_tally.sent ), folded as (
  delete from campaign_tally tally using (
    select distinct campaign_id, code
    from page) touched
  where (tally.campaign_id, tally.code) = (touched.campaign_id, touched.code) and not fresh
  returning tally.campaign_id, tally.code, tally.count, tally.fresh, tally.gone, tally.gone_clicked,
      tally.gone_delivered, tally.gone_human_clicked, tally.gone_human_opened, tally.gone_opened,
      tally.project_id, tally.sent ), sums as (
  insert into campaign_tally (campaign_id, project_id, code, count, sent, gone, gone_delivered,
      gone_opened, gone_clicked, gone_human_opened, gone_human_clicked, fresh)
  select campaign_id, project_id, code, sum(count), sum(sent), sum(gone), sum(gone_delivered),
      sum(gone_opened), sum(gone_clicked), sum(gone_human_opened), sum(gone_human_clicked), false
  from (
    select unfolded.campaign_id, unfolded.code, unfolded.count, unfolded.fresh, unfolded.gone,
        unfolded.gone_clicked, unfolded.gone_delivered, unfolded.gone_human_clicked,
        unfolded.gone_human_opened, unfolded.gone_opened, unfolded.project_id, unfolded.sent
    from unfolded
    union all
    select folded.campaign_id, folded.code, folded.count, folded.fresh, folded.gone,
        folded.gone_clicked, folded.gone_delivered, folded.gone_human_clicked,
        folded.gone_human_opened, folded.gone_opened, folded.project_id, folded.sent
    from folded) row
  where exists (
    select
    from campaign
    where id = campaign_id)
  group by 1, 2, 3 having sum(count) <> 0 or sum(sent) <> 0 or sum(gone) <> 0 )
select count(*)::int as count
from page

with page as (
  select ctid as row, owner_id
  from goal_tally
  where fresh
  limit $1 ), gone as (
  delete from goal_tally
  where ctid = any(array(
      select row
      from page))
  returning owner_id, project_id, converted, conversions, value ), folded as (
  delete from goal_tally tally using (
    select distinct owner_id
    from page) touched
  where tally.owner_id = touched.owner_id and not fresh
  returning tally.owner_id, project_id, converted, conversions, value ), sums as (
  insert into goal_tally (owner_id, project_id, converted, conversions, value, fresh)
  select owner_id, project_id, sum(converted), sum(conversions), sum(value), false
  from (
    select owner_id, project_id, converted, conversions, value
    from gone
    union all
    select owner_id, project_id, converted, conversions, value
    from folded) row
  where exists (
    select
    from campaign
    where id = owner_id) or exists (
    select
    from workflow
    where id = owner_id)
  group by 1, 2 )
select count(*)::int as count
from page

with page as materialized (
  select id, status, case status when 'SENDING' then held_at is null and not
      (campaign.audience_fixed and coalesce(campaign.retry_look_at > now(), true) and not exists (
      select
      from campaign_chunk inner_handed
      where inner_handed.campaign_id = campaign.id and inner_handed.attempt_id is not null) and not
          exists (
      select
      from email_queue inner_leased
      where inner_leased.campaign_id = campaign.id and inner_leased.lease_until is not null) and
          coalesce(least( (
          select inner_open.due_at
          from campaign_chunk inner_open
          where inner_open.campaign_id = campaign.id and inner_open.attempt_id is null
          order by inner_open.due_at
          limit 1), (
          select waiting.due_at
          from (
            select inner_unqueued.due_at, inner_unqueued.email_id
            from email_queue inner_unqueued
            where inner_unqueued.campaign_id = campaign.id and inner_unqueued.lease_until is null)
                waiting
          order by waiting.due_at
          limit 1)) > now(), false) and not (campaign.experiment is not null and exists (
        select
        from experiment inner_experiment
        where inner_experiment.campaign_id = campaign.id and case when inner_experiment.decided_at
            is not null then exists (
          select
          from campaign_chunk inner_rest
          where inner_rest.campaign_id = campaign.id and inner_rest.due_at = $1::timestamptz) when
              inner_experiment.decide_at is not null then coalesce(inner_experiment.waits_until,
              inner_experiment.decide_at) <= now() else inner_experiment.started_at < now() - $2 *
              interval '1 second' or (not exists (
            select
            from campaign_chunk inner_tested
            where inner_tested.campaign_id = campaign.id and inner_tested.due_at < $3::timestamptz)
                and not exists (
            select
            from email_queue inner_queued
            where inner_queued.campaign_id = campaign.id)) end))) when 'SCHEDULED' then held_at is
                null and scheduled_for < now() - interval '1 minute' else frozen_at is not null and
                (exists (
      select
      from campaign_chunk inner_chunk
      where inner_chunk.campaign_id = campaign.id) or exists (
      select
      from (
        select inner_unqueued.due_at, inner_unqueued.email_id
        from email_queue inner_unqueued
        where inner_unqueued.campaign_id = campaign.id and inner_unqueued.lease_until is null)
            waiting)) end as has_work
  from campaign
  where reconciled_at < now() - interval '2 minutes' and status in ('SCHEDULED', 'SENDING',
      'CANCELLED')
  order by reconciled_at
  limit $4
  for update skip locked )
update campaign
set reconciled_at = case when page.status = 'CANCELLED' and not has_work then 'infinity' else now()
    end
from page
where campaign.id = page.id
returning campaign.id, project_id, name, has_work
