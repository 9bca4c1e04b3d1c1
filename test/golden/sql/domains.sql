select id, project_id, name, status, dkim_tokens, ownership_token, signing, "ed25519", inbound,
    tracking_subdomain, revision, last_checked_at, verified_at, created_at, updated_at,
    domain.record_states as record_states, domain.former_records as former_records, (
  select coalesce(jsonb_agg(jsonb_build_object('selector', inner_domain_key.selector, 'algorithm',
      inner_domain_key.algorithm, 'publicKey', inner_domain_key.public_key, 'state',
      inner_domain_key.state, 'createdAt', inner_domain_key.created_at, 'seenAt',
      inner_domain_key.seen_at, 'removeAfter', inner_domain_key.remove_after)
      order by inner_domain_key.state, inner_domain_key.algorithm desc, inner_domain_key.created_at
          desc), '[]')
  from domain_key inner_domain_key where inner_domain_key.domain_id = domain.id and
      (inner_domain_key.state <> 'next' or inner_domain_key.created_at > now() - interval '30 days')
      and (inner_domain_key.state <> 'previous' or inner_domain_key.remove_after > now() - interval
      '30 days')) as keys
from domain
where id = $1 and is_registered

select id, project_id, name, status, dkim_tokens, ownership_token, signing, "ed25519", inbound,
    tracking_subdomain, revision, last_checked_at, verified_at, created_at, updated_at,
    domain.record_states as record_states, domain.former_records as former_records, (
  select coalesce(jsonb_agg(jsonb_build_object('selector', inner_domain_key.selector, 'algorithm',
      inner_domain_key.algorithm, 'publicKey', inner_domain_key.public_key, 'state',
      inner_domain_key.state, 'createdAt', inner_domain_key.created_at, 'seenAt',
      inner_domain_key.seen_at, 'removeAfter', inner_domain_key.remove_after)
      order by inner_domain_key.state, inner_domain_key.algorithm desc, inner_domain_key.created_at
          desc), '[]')
  from domain_key inner_domain_key where inner_domain_key.domain_id = domain.id and
      (inner_domain_key.state <> 'next' or inner_domain_key.created_at > now() - interval '30 days')
      and (inner_domain_key.state <> 'previous' or inner_domain_key.remove_after > now() - interval
      '30 days')) as keys, failed_checks, next_check_at, daily_check_at, tracking_active,
      tracking_missed, tracking_since, now() as now
from domain
where id = $1
for update

select status
from domain
where project_id = $1 and name = $2

select status, case when next_check_at is not null then greatest(0, ceil(extract(epoch from
    next_check_at - clock_timestamp()) * 1000)::float8) end as "dueMs"
from domain
where id = $1

update domain
set next_reconcile_at = now() + interval '10 minutes'
where id in (
  select id
  from domain
  where next_check_at < now() - interval '10 minutes' and next_reconcile_at < now()
  limit $1
  for update skip locked)
returning id, project_id, name

update domain
set status = $1, failed_checks = $2, record_states = $3, former_records = $4, signing = $5,
    tracking_active = $6, tracking_missed = $7, last_checked_at = $8, next_check_at = $9,
    daily_check_at = now() + interval '24 hours', updated_at = $10
where id = $11
returning id, project_id, name, status, dkim_tokens, ownership_token, signing, "ed25519", inbound,
    tracking_subdomain, revision, last_checked_at, verified_at, created_at, updated_at,
    domain.record_states as record_states, domain.former_records as former_records, (
  select coalesce(jsonb_agg(jsonb_build_object('selector', inner_domain_key.selector, 'algorithm',
      inner_domain_key.algorithm, 'publicKey', inner_domain_key.public_key, 'state',
      inner_domain_key.state, 'createdAt', inner_domain_key.created_at, 'seenAt',
      inner_domain_key.seen_at, 'removeAfter', inner_domain_key.remove_after)
      order by inner_domain_key.state, inner_domain_key.algorithm desc, inner_domain_key.created_at
          desc), '[]')
  from domain_key inner_domain_key where inner_domain_key.domain_id = domain.id and
      (inner_domain_key.state <> 'next' or inner_domain_key.created_at > now() - interval '30 days')
      and (inner_domain_key.state <> 'previous' or inner_domain_key.remove_after > now() - interval
      '30 days')) as keys
