insert into body_template (campaign_id, hash, project_id, body)
select $1, $2, id, $3::jsonb
from project
where id = $4 and removal is null
on conflict do nothing

insert into suppression_key (owner_id, key)
select coalesce(public_id, id), $1
from project
where id = $2
on conflict do nothing

select coalesce(bounce_scope, 'marketing') as scope
from project
where id = $1

select disabled_reason
from project
where id = $1
for share

select execution.id
from project
inner join workflow on workflow.project_id = project.id
inner join execution on execution.workflow_id = workflow.id
where project.disabled_reason is not null and project.removal is null and execution.status in
    ('RUNNING', 'WAITING')
limit $1

select id
from project
where id = $1
for no key update

select id
from project
where id = $1 and removal is null
for key share

select owner_id, key from suppression_key where owner_id = (
  select coalesce(public_id, id)
  from project
  where id = $1)

select project.billing_limit_campaigns, project.billing_limit_inbound,
    project.billing_limit_transactional, project.billing_limit_workflows, project.bounce_scope,
    project.consent_policy_at, project.created_at, project.customer, project.disabled_reason,
    project.id, project.keys_may_name_admins, project.language, project.last_subscription,
    project.link_policy_at, project.name, project.next_reconcile_at, project.opt_in_expire_after,
    project.opt_in_from_email, project.opt_in_from_name, project.opt_in_remind_after,
    project.opt_in_required, project.opt_in_template_id, project.public_id, project.public_key,
    project.removal, project.requires_second_factor, project.secret_key_hash,
    project."secret_key_last4", project.sign_in_policy_at, project.subscription, project.tracking,
    project.updated_at, project.utm, project.utm_hosts, project.webhook_signing_secret
from project
where id = $1

select project.id, coalesce(project.public_id, project.id) as "publicId", project.disabled_reason as
    "disabledReason", project.opt_in_required as "requiresConfirmation",
    project.keys_may_name_admins as "keysMayNameAdmins", public_key as "publicKey", secret_key_hash
    as hash, null::json as key from project
where public_key = any($1::text[]) or secret_key_hash = any($2::bytea[])
union all
select project.id, coalesce(project.public_id, project.id) as "publicId", project.disabled_reason as
    "disabledReason", project.opt_in_required as "requiresConfirmation",
    project.keys_may_name_admins as "keysMayNameAdmins", null, sent.hash, json_build_object('id',
    api_key.id, 'scopes', scopes, 'domains', domains, 'cidrs', cidrs, 'events', events, 'ended',
    case when revoked_at is not null then 'revoked' when expires_at <= now() then 'expired' when
    previous_hash = sent.hash and rotates_until <= now() then 'expired' end, 'validUntil', case when
    previous_hash = sent.hash then rotates_until end)
from unnest($3::bytea[]) as sent (hash)
join api_key on key_hash = sent.hash or previous_hash = sent.hash
join project on project.id = api_key.project_id and removal is null

update project
set next_reconcile_at = now() + interval '10 minutes'
where id in (
  select id
  from project
  where removal is not null and coalesce(next_reconcile_at, updated_at + interval '10 minutes') <
      now()
  limit $1
  for update skip locked)
returning coalesce(public_id, id) as "publicId", removal

with first as (
  select date_trunc('day', min(moment.at), 'UTC') as day
  from project
  cross join unnest(array[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) as number
  cross join lateral (
    select least( (
        select at
        from email_moment
        where project_id = project.id and kind = number and at >= coalesce((
            select inner_mark.at
            from watermark inner_mark
            where inner_mark.name = 'email_tally'), timestamptz '-infinity')
        order by at
        limit 1), (
        select day::timestamp at time zone 'UTC'
        from email_tally
        where project_id = project.id and kind = number and day >= (coalesce((
              select inner_mark.at
              from watermark inner_mark
              where inner_mark.name = 'email_tally'), timestamptz '-infinity') at time zone
                  'UTC')::date
        order by day
        limit 1)) as at) moment )
select case when day <= date_trunc('day', now(), 'UTC') - interval '72 hours' then day end as day,
    coalesce(day >= date_trunc('day', now(), 'UTC') - interval '72 hours', true) as "isLast"
from first

with first as (
  select project_id
  from api_key where notice_at <= now()
  order by notice_at
  limit 1
  for update skip locked)
select api_key.id, project_id as "projectId", coalesce(project.public_id, project.id) as "publicId",
    api_key.name, expires_at as "expiresAt", notice_at as "noticeAt", project.removal is not null as
    "isRemoved"
from first
join api_key using (project_id)
join project on project.id = project_id
where notice_at <= now()
order by notice_at, api_key.id
for update of api_key skip locked

with held as (
  select id
  from project
  where id = $1 and removal is null
  for key share ), free as (
  select id
  from contact
  where contact.project_id = $2 and contact.email = any($3::text[])
  for no key update skip locked )
select contact.id, contact.email, free.id is not null as "isFree"
from held
left join contact on contact.project_id = $4 and contact.email = any($5::text[])
left join free on free.id = contact.id

with held as (
  select id
  from project
  where id = $1 and removal is null
  for key share ), locked as (
  select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
      contact.project_id, contact.subscribed, contact.updated_at
  from contact
  where project_id = (
    select id
    from held) and email = $2
  for no key update )
select locked.consent, locked.created_at, locked.data, locked.email, locked.id, locked.project_id,
    locked.subscribed, locked.updated_at
from held
left join locked on true

with held as (
  select id
  from project
  where id = $1 and removal is null
  for key share ), locked as (
  select contact.consent, contact.created_at, contact.data, contact.email, contact.id,
      contact.project_id, contact.subscribed, contact.updated_at
  from contact
  where project_id = (
    select id
    from held) and id = $2
  for no key update )
select locked.consent, locked.created_at, locked.data, locked.email, locked.id, locked.project_id,
    locked.subscribed, locked.updated_at
from held
left join locked on true
