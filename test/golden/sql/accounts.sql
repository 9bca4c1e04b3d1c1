delete from account_token
where created_at < now() - interval '1 hour'

delete from security_event
where id in (
  select id
  from security_event
  where created_at < now() - $1 * interval '1 day'
  limit $2)

delete from session
where id in (
  select id
  from session
  where expires_at < now()
  limit $1)
