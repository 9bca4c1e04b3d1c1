delete from payment_receipt
where created_at < now() - interval '30 days' and ctid = any (array(
    select ctid
    from payment_receipt
    where created_at < now() - interval '30 days'
    limit $1))
