delete from account_token
where created_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from account_token
    where created_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from security_event
where created_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from security_event
    where created_at < now() - make_interval(hours => $2::int)
    limit $3))

delete from session
where expires_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from session
    where expires_at < now() - make_interval(hours => $2::int)
    limit $3))

with equal as (
  select id
  from security_event
  where project_id = $1::uuid and actor = $2 and event = $3 and target_id = $4 and target_type = $5
      and ip = $6 and changes is null and $7::jsonb is null and details = $8::jsonb and created_at >
      now() - interval '1 minute'
  order by created_at desc, id desc
  limit 1
  for update skip locked), counted as (
  update security_event
  set count = count + 1
  from equal
  where security_event.id = equal.id
  returning security_event.id)
insert into security_event (event, user_id, actor, project_id, ip, request_id, target_type,
    target_id, changes, details)
select $9, $10::uuid, $11, $12::uuid, $13, $14, $15, $16, $17::jsonb, $18::jsonb
where not exists (
  select
  from counted)
