delete from payment_receipt
where created_at < now() - interval '30 days'
