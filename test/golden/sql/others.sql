select pg_advisory_xact_lock(hashtextextended($1, 0))

select set_config('statement_timeout', $1, true)
