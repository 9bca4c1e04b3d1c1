delete from idempotency
where created_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from idempotency
    where created_at < now() - make_interval(hours => $2::int)
    limit $3))

insert into idempotency (owner_id, key, request, body_hash, use_id, shown_to, created_at)
values ($1, $2, $3, $4, $5, $6, clock_timestamp())
on conflict (owner_id, key) do nothing
returning created_at

select request, body_hash, status_code, response, created_at, use_id, shown_to, created_at < now() -
    make_interval(hours => $1::int) as is_expired, status_code is null and (interrupted or
    coalesce(renewed_at, created_at) < now() - make_interval(secs => $2::float8)) as is_left
from idempotency
where (owner_id = $3 and key = $4)
for update

update idempotency
set status_code = $1, response = $2
where owner_id = $3 and key = $4 and created_at = $5 and status_code is null
