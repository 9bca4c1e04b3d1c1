select failures, case when next_probe_at is not null then greatest(0, ceil(extract(epoch from
    next_probe_at - clock_timestamp()) * 1000)::float8) end as "waitMs"
from provider_circuit
where provider = $1

select id
from removal
order by id
limit $1

select id
from removal
where id = $1

select kind
from removal
where id = $1
for update

select pg_advisory_xact_lock(hashtextextended($1, 0))

select set_config('statement_timeout', $1, true)
