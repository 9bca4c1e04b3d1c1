delete from request_log_count
where day < ((now() at time zone 'utc')::date - $1::int) and ctid = any (array(
    select ctid
    from request_log_count
    where day < ((now() at time zone 'utc')::date - $2::int)
    limit $3))
