select email.id, email.project_id, email.contact_id, email.to_email, email.from_email,
    email.message_class, email.source_type, email.created_at, email.scheduled_for, email.held_until,
    email.billed_units, email.allowance_month, email.attempts + 1 as attempts, content.version as
    content_version, content.from_name, content.reply_to, case when email.attempts > 0 then
    jsonb_path_query_first(email.trace, '$[*] ? (@.state == handed_over)') ->> 'at' end as
    first_attempt_at, campaign.refused_in_row, contact.email as contact_email, contact.subscribed as
    contact_subscribed, contact.data as contact_data, project.disabled_reason is not null as
    project_disabled, ((email.scheduled_for is not null or email.held_until is not null) and not
    exists (
    select
    from domain
    where domain.project_id = email.project_id and domain.status = 'verified' and domain.host_name =
        split_part(email.from_email, '@', -1))) as sender_gone, contact.project_id <>
        email.project_id as contact_gone, (
  select exists (
    select
    from suppression_key where owner_id = (
      select coalesce(public_id, id)
      from project
      where id = $1))) as has_suppressions, case when email.topic_id is null then false else
          coalesce((
    select not coalesce((
        select chosen.subscribed
        from contact_topic chosen
        where chosen.contact_id = email.contact_id and chosen.topic_id = topic.id),
            topic.by_default)
    from topic
    where topic.id = email.topic_id), false) end as topic_left, project.language as
        project_language, project.tracking as project_tracking, project.subscription is null as
        has_badge
from email
join contact on contact.id = email.contact_id
join campaign on campaign.id = $2
join campaign_content content on content.campaign_id = campaign.id and content.version =
    campaign.content_version
join project on project.id = campaign.project_id
where email.id = any($3::uuid[]) and email.status = 'PENDING'
order by email.id

select id, project_id, host_name as name, status, dkim_tokens, ownership_token,
    ownership_record_needed, record_statuses, last_checked_at, verified_at, created_at, updated_at
from domain
where id = $1 and dkim_tokens <> '{}'

select id, project_id, host_name as name, status, dkim_tokens, ownership_token,
    ownership_record_needed, record_statuses, last_checked_at, verified_at, created_at, updated_at,
    failed_checks, next_check_at, now() as now
from domain
where id = $1
for update

select status
from domain
where project_id = $1 and host_name = $2

select status, case when next_check_at is not null then greatest(0, ceil(extract(epoch from
    next_check_at - clock_timestamp()) * 1000)::float8) end as "dueMs"
from domain
where id = $1

update domain
set next_look_at = now() + interval '10 minutes'
where id in (
  select id
  from domain
  where next_check_at < now() - interval '10 minutes' and next_look_at < now()
  limit $1
  for update skip locked)
returning id, project_id, host_name as name

update domain
set status = $1, failed_checks = $2, record_statuses = record_statuses || $3::jsonb, last_checked_at
    = $4, next_check_at = $5, updated_at = $6
where id = $7
returning id, project_id, host_name as name, status, dkim_tokens, ownership_token,
    ownership_record_needed, record_statuses, last_checked_at, verified_at, created_at, updated_at
