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
