delete from break_glass
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from break_glass
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from derived_event_log
where recorded_at < now() - $1 * interval '1 day' and ctid = any (array(
    select ctid
    from derived_event_log
    where recorded_at < now() - $2 * interval '1 day'
    limit $3))

delete from follow_up_list
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from follow_up_list
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from not_started
where at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from not_started
    where at < now() - make_interval(hours => $2::int)
    limit $3))

delete from pending_sign_in
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from pending_sign_in
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from plan
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from plan
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from suppression
where until < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from suppression
    where until < now() - make_interval(hours => $2::int)
    limit $3))

delete from used_challenge
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from used_challenge
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

insert into audience_page (campaign_id, project_id, to_at, to_id, fixed_at)
values ($1, $2, $3, $4, $5)

insert into consent (contact_id, project_id, action, source, topic, ip, user_agent, text, actor)
select contact_id, project_id, action, source, topic, $1, $2, $3, $4
from unnest($5::uuid[], $6::uuid[], $7::text[], $8::text[], $9::text[])
with ordinality as given(contact_id, project_id, action, source, topic, place)
order by place

insert into suppression (owner_id, address_hash, email, reason, scope, email_id, until)
select $1, address_hash::bytea, email, reason, scope, email_id, until
from jsonb_to_recordset($2::jsonb) as given(address_hash text, email text, reason text, scope text,
    email_id uuid, until timestamptz)
order by address_hash
on conflict (owner_id, address_hash) do update
set reason = case when suppression.until <= now() or (suppression.scope = 'marketing' and
    excluded.scope = 'all') then excluded.reason else suppression.reason end, scope = case when
    suppression.until <= now() or (suppression.scope = 'marketing' and excluded.scope = 'all') then
    excluded.scope else suppression.scope end, email_id = case when suppression.until <= now() or
    (suppression.scope = 'marketing' and excluded.scope = 'all') then excluded.email_id else
    suppression.email_id end, until = case when suppression.until <= now() or (suppression.until is
    not null and coalesce(excluded.until > suppression.until, true)) then excluded.until else
    suppression.until end, email = case when suppression.until <= now() or false then excluded.email
    else suppression.email end, history = case when suppression.until <= now() or false then
    excluded.history else suppression.history end, created_at = case when suppression.until <= now()
    or false then excluded.created_at else suppression.created_at end
where suppression.until <= now() or (suppression.scope = 'marketing' and excluded.scope = 'all') or
    (suppression.until is not null and coalesce(excluded.until > suppression.until, true))
returning created_at = now()::timestamptz(3) as "isNew"

select address_hash, scope, reason, until
from suppression
where owner_id = $1 and address_hash = any($2::bytea[]) and coalesce(until > now(), true)

select campaign_id, hash, body
from body_template
where project_id = $1 and (campaign_id, hash) in (
  select named.campaign_id, named.hash
  from unnest( $2::uuid[], $3::text[]) as named(campaign_id, hash))

select child.relname as name
from pg_inherits
join pg_class child on child.oid = inhrelid
where inhparent = 'request_log'::regclass and to_date(right(child.relname, 8), 'YYYYMMDD') < ((now()
    at time zone 'utc')::date - $1::int)
order by name

select coalesce(has_function_privilege(to_regprocedure($1)::oid, 'execute'), false) as "mayCall"

select coalesce(sum(converted), 0)::int as converted, coalesce(sum(conversions), 0)::float8 as
    conversions, coalesce(round(sum(value), 6), 0)::text as value
from goal_tally
where owner_id = $1

select heartbeat::float8 as heartbeat, heartbeat_at as "heartbeatAt"
from installation
for update

select id
from removal
order by id
limit $1

select id
from removal
where id = $1

select id
from restore
where ended_at is null and held_before is not null and not is_held

select id, project_id
from api_key where clear_answers
order by id
limit $1

select id, project_id
from ramp
where reconcile_at < now()
limit $1
for update skip locked

select kind
from removal
where id = $1
for update

select max(last_at) as "lastAt", coalesce(sum(delivered) filter (
    where hour > now() - interval '24 hours'), 0)::int as delivered, coalesce(sum(bounced) filter (
    where hour > now() - interval '24 hours'), 0)::int as bounced, coalesce(sum(delayed) filter (
    where hour > now() - interval '24 hours'), 0)::int as delayed, coalesce(sum(complained) filter (
    where hour > now() - interval '24 hours'), 0)::int as complained
from report_count
where project_id = $1

select owner_id, project_id
from tracked_link
where not is_checked
limit 1

select pg_advisory_xact_lock(hashtextextended($1, 0))

select project_id
from held_release

select provider, failures, case when next_probe_at is not null then greatest(0, ceil(extract(epoch
    from next_probe_at - clock_timestamp()) * 1000)::float8) end as "waitMs"
from provider_circuit
where provider = any($1::text[])

select reason, count(*)::int as times
from not_started
where workflow_id = $1
group by reason

select restore.advanced, restore.checked, restore.ended, restore.ended_at, restore.from_at,
    restore.held_before, restore.held_to, restore.id, restore.is_held, restore.kind,
    restore.noticed_at, restore.repaired_at, restore.repaired_to, restore.repaired_to_id,
    restore.restarted, restore.runs, restore.schedules, restore.settled, restore.to_at
from restore
where ended_at is null
order by noticed_at

select routes, updated_at as "updatedAt"
from mail_routing
where project_id = $1

select set_config('statement_timeout', $1, true)

select stopped_at is null and seen_at > now() - make_interval(secs => $1) as "isAlive",
    coalesce(stopped_at, seen_at) as "lastAt", provider, rate_per_second as "perSecond",
    rate_per_project_per_second as "perProjectPerSecond"
from worker_process
order by "isAlive" desc, started_at desc

select system_identifier as "systemIdentifier", timeline, objects, log_offset::text as "logOffset",
    confirmed_at::text as "confirmedAt", (
  select oid
  from pg_database
  where datname = current_database())::text || ' ' || 'event'::regclass::oid::text as "objectsNow"
from database_cluster
for update

select system_identifier::text as id
from pg_control_system()

select timeline_id as timeline
from pg_control_checkpoint()

update database_cluster
set confirmed_at = now(), log_offset = $1, system_identifier = coalesce($2, system_identifier),
    timeline = coalesce($3, timeline), objects = $4

update erasure
set touched_at = clock_timestamp()
where id in (
  select id
  from erasure
  where state <> 'completed' and touched_at < now() - interval '10 minutes'
  order by touched_at
  limit $1
  for update skip locked)
returning id, rows_of

update installation
set heartbeat = $1, heartbeat_at = now()
returning to_char(heartbeat_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at

update opt_in
set next_reconcile_at = clock_timestamp() + interval '10 minutes'
where id in (
  select id
  from opt_in
  where state = 'pending' and next_reconcile_at < now()
  order by next_reconcile_at
  limit $1
  for update skip locked)
returning id, project_id

update upload
set state = 'removing', remove_at = now() + make_interval(mins => $1::int)
where key = (
  select inner_upload.key from upload inner_upload
  where inner_upload.remove_at <= now()
  order by inner_upload.remove_at
  limit 1
  for update skip locked)
returning key

update worker_process
set seen_at = now(), stopped_at = now()
where id = $1

with page as (
  select ctid as row, owner_id, link_id
  from link_tally
  where fresh
  limit $1 ), gone as (
  delete from link_tally
  where ctid = any(array(
      select row
      from page))
  returning link_tally.clicks, link_tally.emails, link_tally.first_at, link_tally.fresh,
      link_tally.gone, link_tally.human_clicks, link_tally.human_emails, link_tally.last_at,
      link_tally.link_id, link_tally.machine_clicks, link_tally.owner_id ), folded as (
  delete from link_tally tally using (
    select distinct owner_id, link_id
    from page) touched
  where (tally.owner_id, tally.link_id) = (touched.owner_id, touched.link_id) and not fresh
  returning tally.clicks, tally.emails, tally.first_at, tally.fresh, tally.gone, tally.human_clicks,
      tally.human_emails, tally.last_at, tally.link_id, tally.machine_clicks, tally.owner_id ), sums
      as (
  insert into link_tally (owner_id, link_id, clicks, emails, human_clicks, human_emails,
      machine_clicks, first_at, last_at, gone, fresh)
  select owner_id, link_id, sum(clicks), sum(emails), sum(human_clicks), sum(human_emails),
      sum(machine_clicks), min(first_at), max(last_at), sum(gone), false
  from (
    select gone.clicks, gone.emails, gone.first_at, gone.fresh, gone.gone, gone.human_clicks,
        gone.human_emails, gone.last_at, gone.link_id, gone.machine_clicks, gone.owner_id
    from gone
    union all
    select folded.clicks, folded.emails, folded.first_at, folded.fresh, folded.gone,
        folded.human_clicks, folded.human_emails, folded.last_at, folded.link_id,
        folded.machine_clicks, folded.owner_id
    from folded) row
  where exists (
    select
    from tracked_link kept
    where kept.owner_id = row.owner_id)
  group by 1, 2 )
select count(*)::int as count
from page

with page as materialized (
  select email_id, at, id, kind
  from engagement
  where client is not null and not at > now() - make_interval(secs => 3600) and settle_at is null
  order by at
  limit $1
  for update skip locked ), heads as (
  delete from engagement using page
  where page.kind = 'head' and (engagement.email_id, engagement.at, engagement.id) = (page.email_id,
      page.at, page.id) ), cleared as (
  update engagement
  set client = null
  from page
  where page.kind <> 'head' and (engagement.email_id, engagement.at, engagement.id) =
      (page.email_id, page.at, page.id) )
select count(*)::int as count
from page
