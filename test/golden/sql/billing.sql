delete from payment_receipt
where created_at < now() - make_interval(hours => $1::int) and ctid = any (array(
    select ctid
    from payment_receipt
    where created_at < now() - make_interval(hours => $2::int)
    limit $3))
